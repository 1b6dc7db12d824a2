/** What the job of a step is told: the step's prompt with what others have left, and what it was sent meanwhile (R4). */
import { LimitError } from '../../lib/errors.ts';
import type { Step } from '../graph/graph.ts';
import { filledPrompt, type TemplateField } from '../graph/template.ts';
import { isStepId, type StepId } from '../ids.ts';
import { readEvents } from '../journal.ts';
import { LIMITS } from '../limits.ts';
import { diffArtifact, outputArtifact, type RunDirectory, worktreeDirectory } from '../places.ts';
import { insertedText } from './artifacts.ts';

/**
 * From the beginning, with every message that the step was sent.
 *
 * @throws LimitError when it is longer than a prompt may be; FileError
 */
export async function firstPrompt(
  run: RunDirectory,
  step: Step,
  messages: readonly StepMessage[],
): Promise<string> {
  const content = (other: StepId, field: TemplateField): Promise<string> => contentOf(run, other, field);
  return checked([
    await filledPrompt(step.prompt, content, isStepId),
    ...messages.map(({ text }) => `While this waited to begin, it was added:\n\n${text}`),
  ]);
}

/** After an agent was interrupted, which goes on with its own conversation. @throws LimitError */
export function nextPrompt(messages: readonly StepMessage[]): string {
  const open = messages.filter(({ receipt }) => receipt !== 'delivered');
  return checked([
    'You were interrupted: the process that ran you ended before your work did, and what you were just doing may be half done. ' +
      'Look at what is there, then go on with your task to its end. Your last message is your result: make it complete by itself.',
    ...open.map(({ text }) => `This was said to you meanwhile; you may have read it already:\n\n${text}`),
  ]);
}

function checked(parts: readonly string[]): string {
  const prompt = parts.join('\n\n');
  const bytes = Buffer.byteLength(prompt);
  if (bytes <= LIMITS.promptBytes) return prompt;
  throw new LimitError(`its prompt would have ${bytes} bytes; ${LIMITS.promptBytes} is the most`);
}

async function contentOf(run: RunDirectory, step: StepId, field: TemplateField): Promise<string> {
  switch (field) {
    case 'output':
      return (await insertedText(outputArtifact(run, step))) ?? '';
    case 'diff':
      return (await insertedText(diffArtifact(run, step))) ?? `[there is no diff of step ${step}]`;
    case 'worktree':
      return worktreeDirectory(run, step);
  }
}

export interface StepMessage {
  readonly text: string;
  readonly from: string;
  readonly receipt: string;
  /** It came when the step's latest attempt had begun, so its prompt may be without it. */
  readonly isLate: boolean;
}

/** What a step was sent, each once; a text that was delivered after it was kept counts as delivered. */
export async function messagesOf(run: RunDirectory, step: StepId): Promise<StepMessage[]> {
  let found: StepMessage[] = [];
  for await (const line of readEvents(run)) {
    if (line.kind !== 'event' || !('step' in line.event) || line.event.step !== step) continue;
    const { event } = line;
    if (event.type === 'step' && event.status === 'running')
      found = found.map((one) => ({ ...one, isLate: false }));
    if (event.type !== 'message') continue;
    const { text, from, receipt } = event;
    const kept = found.findIndex((one) => one.receipt === 'kept' && one.text === text);
    if (receipt === LATE && kept !== -1) found[kept] = { text, from, receipt: 'delivered', isLate: false };
    else found.push({ text, from, receipt, isLate: true });
  }
  return found;
}

/** Receipt of a message in the events that was kept first and has now been put into the step's turn. */
export const LATE = 'delivered-late';
