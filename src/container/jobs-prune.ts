/** The project's finished jobs, pruned by the retention of the domain's Sessions (J14). */
import { pathsOf, type Roots, sandboxEnvironment } from '../agent-dir/index.ts';
import type { OtherConversations } from '../history/index.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import { besideStarts, onceAnHour } from './beside-starts.ts';

/** Another sandbox of the domain, or a person, may be removing jobs: the next prune goes on. */
const WAIT_MS = 500;

export interface JobsPrune {
  readonly roots: Roots;
  /** Absolute; nothing is pruned where it is not known. */
  readonly project: string | undefined;
  readonly clock: Clock;
  readonly host: () => string;
  readonly note: (event: string, facts: Record<string, unknown>) => void;
}

/**
 * The conversations of jobs, for the prune of a start: they go with their jobs at the age of Sessions, and are counted with
 * those (S11). Looked at by the first start of a sandbox, and then at most once an hour.
 */
export function jobConversations(prune: JobsPrune): OtherConversations {
  const due = onceAnHour(prune.clock);
  return {
    what: 'job conversations',
    async prune({ unchangedSince }) {
      if (!due()) return { count: 0, bytes: 0 };
      return pruneProject(prune, prune.clock.now().getTime() - unchangedSince.getTime());
    },
  };
}

/** Gives a function that a start calls: what killed starts and removals of jobs have left goes, and no job does. */
export function jobLeftovers(prune: JobsPrune, delayMs?: number): () => void {
  const run = async (): Promise<void> => void (await pruneProject(prune, undefined));
  return besideStarts(prune.clock, run, delayMs);
}

/** Whatever fails is noted, and stops nobody. */
async function pruneProject(
  { roots, project, clock, host, note }: JobsPrune,
  olderThanMs: number | undefined,
): Promise<{ count: number; bytes: number }> {
  if (project === undefined) return { count: 0, bytes: 0 };
  const { jobsPlace, projectAt, pruneJobs } = await import('../jobs/index.ts');
  try {
    const { removed, failed, leftovers } = await pruneJobs(
      jobsPlace(sandboxEnvironment(roots), pathsOf(roots).home),
      projectAt(project),
      {
        clock,
        identity: { pid: process.pid, host: host() },
        sessionLocks: pathsOf(roots).sessionLocks,
        olderThanMs,
        dryRun: false,
        waitMs: WAIT_MS,
      },
    );
    const [first] = failed;
    const bytes = removed.reduce((sum, each) => sum + each.bytes, 0);
    const problem = first && `${first.job}: ${first.reason}`;
    if (removed.length + failed.length + leftovers > 0) {
      note('jobs-pruned', {
        removed: removed.length,
        bytes,
        left: failed.length,
        first: problem,
        leftovers,
      });
    }
    return { count: removed.length, bytes };
  } catch (error) {
    note('jobs-prune-failed', { reason: messageOf(error) });
    return { count: 0, bytes: 0 };
  }
}
