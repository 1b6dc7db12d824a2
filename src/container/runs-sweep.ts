/** The domain's runs, swept beside what a start starts (R9): nobody waits for the end of old ones. */
import { pathsOf, type Roots, sandboxEnvironment } from '../agent-dir/index.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import { besideStarts } from './beside-starts.ts';

export interface RunsSweep {
  readonly roots: Roots;
  readonly clock: Clock;
  readonly host: () => string;
  readonly note: (event: string, facts: Record<string, unknown>) => void;
}

/** Gives a function that a start calls: a little later, and at most once an hour, the runs are swept. */
export function runsSweeper(sweep: RunsSweep, delayMs?: number): () => void {
  return besideStarts(sweep.clock, () => sweepRunsOf(sweep), delayMs);
}

/** Another process may be sweeping: then there is nothing to do. Whatever fails is noted, and stops nobody. */
async function sweepRunsOf({ roots, clock, host, note }: RunsSweep): Promise<void> {
  const { runsPlace, SweepBusyError, sweepLine, sweepRuns } = await import('../runs/index.ts');
  try {
    const place = runsPlace(sandboxEnvironment(roots), pathsOf(roots).home);
    const report = await sweepRuns(place, { clock, identity: { pid: process.pid, host: host() } });
    const { expired, deleted, leftovers, failed, withWorktrees } = report;
    const [first] = failed.items;
    if (expired + deleted + leftovers + failed.items.length === 0) return;
    const worktrees = withWorktrees.items.length + withWorktrees.omitted;
    const problem = first && `${first.run}: ${first.reason}`;
    note('runs-swept', { what: sweepLine(report), bytes: report.bytes, worktrees, first: problem });
  } catch (error) {
    if (!(error instanceof SweepBusyError)) note('runs-sweep-failed', { reason: messageOf(error) });
  }
}
