/** A profile (J7): what a job is for, as a Markdown file whose front matter sets it up and whose text is its prompt. */
import * as z from 'zod/mini';
import { parseDuration } from '../../lib/duration.ts';
import { ConfigError, messageOf } from '../../lib/errors.ts';
import { parseYaml } from '../../lib/yaml-text.ts';
import { isJobName } from '../names.ts';

export const THINKING_LEVELS = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type ThinkingLevel = (typeof THINKING_LEVELS)[number];

export interface Profile {
  readonly name: string;
  readonly description: string;
  readonly model: string | undefined;
  readonly thinking: ThinkingLevel | undefined;
  /** As pi's `--tools` takes it. */
  readonly tools: string | undefined;
  /** Whether the prompt is added to pi's own or stands in its place. */
  readonly prompt: 'append' | 'replace';
  readonly timeoutSeconds: number | undefined;
  /** Agents of this depth start none (J8). */
  readonly maxDepth: number | undefined;
  readonly text: string;
}

let schema: ReturnType<typeof makeSchema> | undefined;

/** What other tools write into the same files is theirs: unknown fields are none of ours. */
function makeSchema() {
  const line = z.string().check(z.trim(), z.minLength(1), z.maxLength(1_000));
  return z.object({
    name: z.optional(z.string().check(z.refine(isJobName, 'use 1 to 64 of a-z, 0-9 and "-"'))),
    description: z.optional(line),
    model: z.optional(line),
    thinking: z.optional(z.enum(THINKING_LEVELS)),
    tools: z.optional(z.union([line, z.array(line)])),
    prompt: z.optional(z.enum(['append', 'replace'])),
    timeout: z.optional(z.union([z.string(), z.number()])),
    'max-depth': z.optional(z.int().check(z.gte(0), z.lte(999))),
  });
}

/** A profile that cannot be used: its file, and the field that is wrong. */
export class ProfileError extends ConfigError {
  readonly file: string;

  constructor(file: string, reason: string) {
    super(file, reason, { hint: 'docs/jobs.md says what a profile may hold' });
    this.file = file;
  }
}

/**
 * @param fallbackName the file's name, for a profile that says none
 * @throws ProfileError
 */
export async function parseProfile(file: string, content: string, fallbackName: string): Promise<Profile> {
  const { head, text } = partsOf(file, content);
  schema ??= makeSchema();
  const parsed = z.safeParse(schema, (await yamlOf(file, head)) ?? {});
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new ProfileError(
      file,
      `${issue?.path.join('.') || 'front matter'}: ${issue?.message ?? 'not valid'}`,
    );
  }
  const {
    name = fallbackName,
    description,
    model,
    thinking,
    tools,
    prompt = 'append',
    ...rest
  } = parsed.data;
  if (!isJobName(name)) throw new ProfileError(file, 'name: say one, the file’s own is none for a profile');
  return {
    name,
    description: description ?? '',
    model,
    thinking,
    tools: Array.isArray(tools) ? tools.join(',') : tools,
    prompt,
    timeoutSeconds: timeoutOf(file, rest.timeout),
    maxDepth: rest['max-depth'],
    text: text.trim(),
  };
}

function partsOf(file: string, content: string): { head: string; text: string } {
  const lines = content.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  if (!/^---[ \t]*\n/.test(lines)) return { head: '', text: lines };
  const [, head, text] = /^---[ \t]*\n([\s\S]*?)(?:^|\n)---[ \t]*(?:\n([\s\S]*))?$/.exec(lines) ?? [];
  if (head === undefined) throw new ProfileError(file, 'front matter: no line "---" ends it');
  return { head, text: text ?? '' };
}

async function yamlOf(file: string, head: string): Promise<unknown> {
  try {
    return await parseYaml(head);
  } catch (error) {
    throw new ProfileError(file, `front matter: ${messageOf(error).slice(0, 300)}`);
  }
}

function timeoutOf(file: string, given: string | number | undefined): number | undefined {
  if (given === undefined) return undefined;
  const milliseconds = parseDuration(String(given));
  if (milliseconds !== undefined) return milliseconds / 1_000;
  throw new ProfileError(file, `timeout: ${JSON.stringify(given)} is no duration such as 30m, 90s or 0`);
}
