/** The domain's work directories, pruned beside what a start starts: nobody waits for the end of old scratch (W7). */
import { pathsOf, type Roots, resolveWorkRoot } from '../agent-dir/index.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import { besideStarts } from './beside-starts.ts';

export interface WorkPrune {
  readonly roots: Roots;
  readonly clock: Clock;
  readonly note: (event: string, facts: Record<string, unknown>) => void;
}

/**
 * Gives a function that a start calls: it prunes all tenants a little later, also those that nobody acquires any more,
 * at most once an hour. The container may end meanwhile; the next prune goes on.
 */
export function workPruner(prune: WorkPrune, delayMs?: number): () => void {
  return besideStarts(prune.clock, () => pruneWork(prune), delayMs);
}

/** Another sandbox of the domain may be at it: then there is nothing to do. Whatever fails is noted, and stops nobody. */
async function pruneWork({ roots, clock, note }: WorkPrune): Promise<void> {
  const { pruneAll, retentionOf, WorkBusyError } = await import('../work/index.ts');
  try {
    const root = resolveWorkRoot(pathsOf(roots).domainAgent);
    const { removed, removedBytes, problems, cut } = await pruneAll(root, retentionOf(), {
      clock,
      waitMs: 0,
    });
    const count = removed.items.length + removed.omitted;
    const [problem] = problems.items;
    if (count === 0 && problem === undefined) return;
    const left = problems.items.length + problems.omitted;
    const first = problem && `${problem.path}: ${problem.reason}`;
    note('work-pruned', { removed: count, bytes: removedBytes, left, first, cut });
  } catch (error) {
    if (!(error instanceof WorkBusyError)) note('work-prune-failed', { reason: messageOf(error) });
  }
}
