/** Keeps in mind which processes are a job's while its pi lives, and ends what is left of them (J4). */
import type { Clock } from '../../lib/clock.ts';
import { endJobProcesses, type HuntReport } from '../hunt/end-processes.ts';
import { jobProcesses, type Seen } from '../hunt/find.ts';
import { type ProcessFacts, type ProcessTable, processTable } from '../hunt/process-table.ts';
import type { JobDirectory } from '../places.ts';
import type { Failures } from './failures.ts';

/** Looking through all processes takes some milliseconds. */
const AT_MOST_EVERY_MS = 500;

export interface LeftBehind {
  /** A tool begins, and may start something. */
  expect(): void;
  /**
   * Remembers what lives now, for when pi has ended nothing tells any more whose its children were. Does nothing when
   * that was done a moment ago, unless it must be; nor when no tool has run since.
   */
  look(options?: { now: boolean }): void;
  end(): Promise<HuntReport>;
}

export function watchProcesses(job: JobDirectory, pi: number, clock: Clock, failures: Failures): LeftBehind {
  const table = processTable();
  const root = rootOf(table, pi, failures);
  let seen: Seen = new Map(root ? [[pi, root.started]] : []);
  let looked = clock.monotonic();
  let expected = false;
  /** What was there before pi is nobody's of this run. */
  const since = root?.started;
  return {
    expect() {
      expected = true;
    },
    look({ now } = { now: false }) {
      if (!expected || (!now && clock.monotonic() - looked < AT_MOST_EVERY_MS)) return;
      looked = clock.monotonic();
      try {
        seen = new Map(jobProcesses(table, job, seen, { since }).map(({ pid, started }) => [pid, started]));
      } catch (error) {
        // What was seen before still counts.
        failures.note(error);
      }
    },
    end: () => endJobProcesses(job, { clock, table, seen, since }),
  };
}

/** Undefined when it has ended, or cannot be seen: then the marks of its processes have to do. */
function rootOf(table: ProcessTable, pi: number, failures: Failures): ProcessFacts | undefined {
  try {
    return table.look(pi);
  } catch (error) {
    failures.note(error);
    return undefined;
  }
}
