/**
 * What a step's prompt takes from the steps that it needs (R4). What is put in is data: it is never looked at for more
 * places. `$${` stands for `${`.
 */
import type { StepId } from '../ids.ts';

export const TEMPLATE_FIELDS = ['output', 'diff', 'worktree'] as const;
export type TemplateField = (typeof TEMPLATE_FIELDS)[number];

/** A piece of a prompt: text as it is, or a place for what a step has left. */
export type TemplatePart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'place'; readonly step: string; readonly field: TemplateField }
  /** Looks like a place and is none. */
  | { readonly kind: 'bad'; readonly text: string };

const PLACE = /\$\$\{|\$\{steps\.[^}\n]{0,200}\}?/g;
const GOOD = /^\$\{steps\.([a-z0-9][a-z0-9-]{0,63})\.(output|diff|worktree)\}$/;

/** Any other `${…}` is text of the prompt's own, such as a shell's. */
export function partsOfPrompt(prompt: string): TemplatePart[] {
  const parts: TemplatePart[] = [];
  let end = 0;
  for (const match of prompt.matchAll(PLACE)) {
    const [text] = match;
    if (match.index > end) parts.push({ kind: 'text', text: prompt.slice(end, match.index) });
    end = match.index + text.length;
    parts.push(text === '$${' ? { kind: 'text', text: '${' } : placeOf(text));
  }
  if (end < prompt.length) parts.push({ kind: 'text', text: prompt.slice(end) });
  return parts;
}

function placeOf(text: string): TemplatePart {
  const [, step, field] = GOOD.exec(text) ?? [];
  const known = TEMPLATE_FIELDS.find((name) => name === field);
  return step === undefined || known === undefined
    ? { kind: 'bad', text }
    : { kind: 'place', step, field: known };
}

/** The prompt with everything put in. */
export async function filledPrompt(
  prompt: string,
  content: (step: StepId, field: TemplateField) => Promise<string>,
  isStep: (id: string) => id is StepId,
): Promise<string> {
  const texts = await Promise.all(
    partsOfPrompt(prompt).map((part) => {
      if (part.kind !== 'place') return part.text;
      return isStep(part.step) ? content(part.step, part.field) : '';
    }),
  );
  return texts.join('');
}
