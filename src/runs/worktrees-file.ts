/** `worktrees.json` (R1, R5): every worktree of a run, written before it is on disk, and kept when it is cleaned up. */
import * as z from 'zod/mini';
import { isStepId } from './ids.ts';
import { type FileFacts, parseVersioned, SCHEMA_VERSION } from './manifest.ts';

export const WORKTREES_FILE = 'worktrees.json';
export const WORKTREES_BYTES = 4 * 1_024 * 1_024;

let schema: ReturnType<typeof makeSchema> | undefined;

function makeSchema() {
  const text = z.string();
  return z.object({
    schemaVersion: z.literal(SCHEMA_VERSION),
    worktrees: z.array(
      z.object({
        stepId: text.check(z.refine(isStepId, 'is no id of a step')),
        worktreePath: text,
        branchName: text,
        /** What it began at. */
        baseCommit: text.check(z.regex(/^[0-9a-f]{4,64}$/, 'is no id of a commit')),
        /** Of the repository that it is a worktree of. */
        repoRoot: text,
        /** It is whole, and its step may have begun; until then nothing in it is anybody's. */
        made: z.boolean(),
        cleanedUp: z.boolean(),
      }),
    ),
  });
}

type WorktreesFile = z.infer<ReturnType<typeof makeSchema>>;
export type WorktreeRecord = WorktreesFile['worktrees'][number];

export function parseWorktrees(text: string): FileFacts<WorktreesFile> {
  schema ??= makeSchema();
  return parseVersioned(WORKTREES_FILE, text, schema);
}

export function worktreesValue(worktrees: readonly WorktreeRecord[]): WorktreesFile {
  return { schemaVersion: SCHEMA_VERSION, worktrees: [...worktrees] };
}
