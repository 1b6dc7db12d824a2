/** The worktrees of a run's steps, as its owner has them (R5): what is made is told with the run's other events. */
import { messageOf } from '../../lib/errors.ts';
import { RunError } from '../errors.ts';
import type { HeldRun } from '../held-run.ts';
import { isRunId } from '../ids.ts';
import { openWorktrees } from '../worktrees/open.ts';
import type { Ledger } from './ledger.ts';
import type { OwnerDeps, StepWorktrees } from './options.ts';

/** Undefined where no step wants one. @throws RunError when `worktrees.json` is damaged or of another version */
export async function openStepWorktrees(
  { directory, manifest: { runId, graph } }: HeldRun,
  { env, clock }: OwnerDeps,
  ledger: Ledger,
): Promise<StepWorktrees | undefined> {
  if (!isRunId(runId) || !graph.steps.some(({ worktree }) => worktree)) return undefined;
  const worktrees = await openWorktrees(directory, runId, { env, clock, journal: { append: ledger.note } });
  return {
    make: ({ id }, from) => worktrees.make(id, from),
    async writeDiff({ id }) {
      try {
        await worktrees.writeDiff(id);
        return undefined;
      } catch (error) {
        // An agent may well have destroyed its worktree: that is no failure of the run's own files.
        if (error instanceof RunError) return messageOf(error);
        throw error;
      }
    },
  };
}
