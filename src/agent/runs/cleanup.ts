import { safeForTerminal } from '../../lib/redact.ts';
import { bytes } from '../../lib/table.ts';
import { type CleanedRun, cleanupRun } from '../../runs/index.ts';
import { answering } from './answering.ts';
import { runContext } from './context.ts';
import { runNamed } from './named.ts';
import { ownerDeps } from './owner-deps.ts';

interface CleanupOptions {
  readonly force?: boolean;
  readonly worktreesOnly?: boolean;
  readonly json?: boolean;
}

/** Removes a run that has ended, its worktrees first (R5, R6). */
export function cleanup(
  run: string,
  { force = false, worktreesOnly = false, json = false }: CleanupOptions,
): Promise<number> {
  return answering({ json }, async () => {
    const context = await runContext();
    const directory = await runNamed(context, run);
    const { place, caller } = context;
    const cleaned = await cleanupRun(place, directory, { caller, force, worktreesOnly }, ownerDeps(context));
    return { facts: cleaned, text: textOf(cleaned) };
  });
}

function textOf({ runId, removed, worktrees, keptBranches, bytes: size }: CleanedRun): string {
  const lines = [
    ...worktrees.map((step) => `removed the worktree of ${step}`),
    ...keptBranches.map((branch) => `kept the branch ${branch}: its commits are nowhere else`),
    ...(removed ? [`removed ${runId} (${bytes(size)})`] : []),
  ];
  const said = lines.length === 0 ? ['there are no worktrees'] : lines;
  return said.map((line) => `${safeForTerminal(line)}\n`).join('');
}
