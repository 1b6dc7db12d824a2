/** The graph file as it is written (R4): docs/graph.schema.json is made of this schema, and a test holds the two equal. */

import * as z from 'zod/mini';
import en from 'zod/v4/locales/en.js';
import { LIMITS } from '../limits.ts';

let schema: ReturnType<typeof makeSchema> | undefined;

function makeSchema() {
  const line = z.string().check(z.minLength(1), z.maxLength(1_000));
  const id = z
    .string()
    .check(z.regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'use 1 to 64 of a-z, 0-9 and "-", not "-" first'));
  const step = z.strictObject({
    id,
    /** As `multi-agent profiles` lists them. */
    profile: z.optional(line),
    /** May use `${steps.<id>.output}`, `.diff` and `.worktree` of what it needs. */
    prompt: z.string().check(z.minLength(1)),
    /** These must have succeeded. */
    needs: z.optional(z.array(id)),
    /** These must have ended, however. */
    after: z.optional(z.array(id)),
    /** Relative to the directory of the start. */
    cwd: z.optional(z.string().check(z.minLength(1), z.maxLength(4_096))),
    /** A git worktree of its own (R5). */
    worktree: z.optional(z.boolean()),
    /** Seconds, or a duration such as `30m`. */
    timeout: z.optional(z.union([z.number(), z.string()])),
    model: z.optional(line),
    /** As pi's `--tools` takes it, or a list. */
    tools: z.optional(z.union([line, z.array(line)])),
  });
  return z.strictObject({
    objective: z.string().check(z.minLength(1), z.maxLength(LIMITS.objectiveCharacters)),
    steps: z.array(step).check(z.minLength(1), z.maxLength(LIMITS.mostSteps)),
  });
}

export type GraphFile = z.infer<ReturnType<typeof makeSchema>>;

/** The graph, or every objection to its form with the place it is about. */
export function readGraphFile(value: unknown): { graph: GraphFile } | { objections: string[] } {
  schema ??= makeSchema();
  // In words, which the small schemas do not have of themselves.
  const parsed = z.safeParse(schema, value, { error: en().localeError });
  if (parsed.success) return { graph: parsed.data };
  return { objections: parsed.error.issues.map((issue) => `${placeOf(issue.path)}: ${issue.message}`) };
}

/** As JSON Schema, for editors. */
export function graphJsonSchema(): unknown {
  schema ??= makeSchema();
  return { title: 'A graph of agent steps', ...z.toJSONSchema(schema) };
}

/** `steps[2].needs[0]`. */
function placeOf(path: readonly PropertyKey[]): string {
  if (path.length === 0) return 'the graph';
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : `${text}${text && '.'}${String(part)}`),
    '',
  );
}
