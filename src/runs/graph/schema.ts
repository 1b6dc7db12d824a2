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
    id: id.check(z.describe('Its name in this graph')),
    profile: z.optional(line.check(z.describe('A profile of agents, as `multi-agent profiles` lists them'))),
    prompt: z
      .string()
      .check(
        z.minLength(1),
        z.describe(
          'The whole task: the agent knows nothing else. ${steps.<id>.output}, .diff and .worktree put in what a step that this one needs has left',
        ),
      ),
    needs: z.optional(z.array(id).check(z.describe('Steps that must have succeeded before'))),
    after: z.optional(z.array(id).check(z.describe('Steps that must have ended before, however'))),
    cwd: z.optional(
      z
        .string()
        .check(
          z.minLength(1),
          z.maxLength(4_096),
          z.describe('Where it works, relative to where the run is started'),
        ),
    ),
    worktree: z.optional(
      z.boolean().check(z.describe('Works in a git worktree of its own, on a branch of its own')),
    ),
    timeout: z.optional(
      z
        .union([z.number(), z.string()])
        .check(z.describe('Seconds, or a duration such as 30m, after which it is ended')),
    ),
    model: z.optional(line.check(z.describe('provider/model, if not that of its profile'))),
    tools: z.optional(
      z.union([line, z.array(line)]).check(z.describe('Names of the tools that it may use, if not all')),
    ),
  });
  return z.strictObject({
    objective: z
      .string()
      .check(z.minLength(1), z.maxLength(LIMITS.objectiveCharacters), z.describe('What all of it is for')),
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

/** The schema itself: docs/graph.schema.json, which editors use, is made of it. */
export function graphFileSchema() {
  schema ??= makeSchema();
  return schema;
}

/** `steps[2].needs[0]`. */
function placeOf(path: readonly PropertyKey[]): string {
  if (path.length === 0) return 'the graph';
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : `${text}${text && '.'}${String(part)}`),
    '',
  );
}
