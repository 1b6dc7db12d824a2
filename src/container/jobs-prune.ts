/** The project's finished jobs, pruned beside what a start starts, by the retention of the domain's Sessions (J14). */
import { pathsOf, type Roots, sandboxEnvironment } from '../agent-dir/index.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import { besideStarts } from './beside-starts.ts';

const DAY_MS = 24 * 60 * 60_000;

export interface JobsPrune {
  readonly roots: Roots;
  /** Absolute; nothing is pruned where it is not known. */
  readonly project: string | undefined;
  readonly clock: Clock;
  /** As the configuration of the last start says; 0 keeps everything. */
  readonly retentionDays: () => number;
  readonly host: () => string;
  readonly note: (event: string, facts: Record<string, unknown>) => void;
}

/** Gives a function that a start calls; at most once an hour it prunes. */
export function jobsPruner(prune: JobsPrune, delayMs?: number): () => void {
  return besideStarts(prune.clock, () => pruneProject(prune), delayMs);
}

/** Somebody may be removing jobs by hand: the next prune goes on. Whatever fails is noted, and stops nobody. */
async function pruneProject({ roots, project, clock, retentionDays, host, note }: JobsPrune): Promise<void> {
  if (project === undefined) return;
  const { jobsPlace, projectAt, pruneJobs } = await import('../jobs/index.ts');
  const days = retentionDays();
  try {
    const { removed, failed, leftovers } = await pruneJobs(
      jobsPlace(sandboxEnvironment(roots), pathsOf(roots).home),
      projectAt(project),
      {
        clock,
        identity: { pid: process.pid, host: host() },
        sessionLocks: pathsOf(roots).sessionLocks,
        olderThanMs: days === 0 ? undefined : days * DAY_MS,
        dryRun: false,
      },
    );
    const [first] = failed;
    if (removed.length + failed.length + leftovers === 0) return;
    const bytes = removed.reduce((sum, each) => sum + each.bytes, 0);
    const problem = first && `${first.job}: ${first.reason}`;
    note('jobs-pruned', { removed: removed.length, bytes, left: failed.length, first: problem, leftovers });
  } catch (error) {
    note('jobs-prune-failed', { reason: messageOf(error) });
  }
}
