/** Ending what a job's pi and its tools left behind, until nothing is found any more (J4). */
import type { Clock } from '../../lib/clock.ts';
import { hasCode } from '../../lib/errors.ts';
import type { JobDirectory } from '../places.ts';
import { type FindOptions, jobProcesses, type Seen } from './find.ts';
import { type ProcessFacts, type ProcessTable, processTable } from './process-table.ts';

export interface HuntOptions extends FindOptions {
  readonly clock: Clock;
  readonly table?: ProcessTable;
  /** What is known to be the job's, though it may have left it and thrown its environment away. */
  readonly seen?: Seen;
  /** Milliseconds that a SIGTERM is given first: for an old pi whose runner is dead. Default 0: none is sent. */
  readonly graceMs?: number;
}

export interface HuntReport {
  /** How many were ended. */
  readonly ended: number;
  /** Those that live on: another user's, or held by the kernel. */
  readonly survivors: readonly number[];
}

/** So long it goes on after those that start new ones all the time. */
const HUNT_MS = 10_000;
const PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 200;

/**
 * Ends every process of a job but the one that calls and those above it. Each is stopped before any is killed, so that
 * none starts another meanwhile; it is over when a look finds none, and after ten seconds.
 */
export async function endJobProcesses(job: JobDirectory, options: HuntOptions): Promise<HuntReport> {
  const { clock, table = processTable(), seen = new Map(), graceMs = 0, since } = options;
  const met = new Map<number, string>(seen);
  const signalled = new Set<string>();
  const find = (): ProcessFacts[] => {
    const found = jobProcesses(table, job, met, { since });
    // Children of one that is killed now lose their parent: they are remembered as what they are.
    for (const { pid, started } of found) met.set(pid, started);
    return found;
  };
  if (graceMs > 0) await askToEnd(find, table, clock, graceMs, signalled);
  const deadline = clock.monotonic() + HUNT_MS;
  for (let pause = PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    const found = freeze(find, table);
    if (found.length === 0) return { ended: signalled.size, survivors: [] };
    for (const process of found) {
      if (signal(table, process, 'SIGKILL')) signalled.add(keyOf(process));
    }
    await clock.sleep(pause);
    if (clock.monotonic() >= deadline)
      return { ended: signalled.size, survivors: find().map(({ pid }) => pid) };
  }
}

/** Looks again until nothing new is there: all that was found stands still then. */
function freeze(find: () => ProcessFacts[], table: ProcessTable): ProcessFacts[] {
  const still = new Set<string>();
  for (let round = 0; ; round++) {
    const found = find();
    const moving = found.filter(({ pid, started }) => !still.has(`${pid} ${started}`));
    if (moving.length === 0 || round === MAX_ROUNDS) return found;
    for (const process of moving) {
      signal(table, process, 'SIGSTOP');
      still.add(`${process.pid} ${process.started}`);
    }
  }
}
const MAX_ROUNDS = 50;

function keyOf({ pid, started }: ProcessFacts): string {
  return `${pid} ${started}`;
}

async function askToEnd(
  find: () => ProcessFacts[],
  table: ProcessTable,
  clock: Clock,
  graceMs: number,
  signalled: Set<string>,
): Promise<void> {
  for (const process of find()) if (signal(table, process, 'SIGTERM')) signalled.add(keyOf(process));
  const deadline = clock.monotonic() + graceMs;
  for (let pause = PAUSE_MS; find().length > 0 && clock.monotonic() < deadline; ) {
    await clock.sleep(pause);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }
}

/** Only to the very process that was found: its number may be another's by now. */
function signal(table: ProcessTable, { pid, started }: ProcessFacts, name: NodeJS.Signals): boolean {
  if (table.look(pid)?.started !== started) return false;
  try {
    process.kill(pid, name);
    return true;
  } catch (error) {
    if (hasCode(error, 'ESRCH', 'EPERM')) return false;
    throw error;
  }
}
