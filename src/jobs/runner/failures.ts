/** `runner.log`: what went wrong in a runner itself, with the place in the code (J2, J11). */
import type { Clock } from '../../lib/clock.ts';
import { appendLog } from '../files.ts';
import type { JobDirectory } from '../places.ts';

/** One that repeats itself need not fill a disk. */
const MOST_ENTRIES = 100;

export interface Failures {
  /** Never throws: where not even this can be written, the failure is lost. */
  note(error: unknown): void;
  settled(): Promise<void>;
}

export function openFailures(directory: JobDirectory, clock: Clock): Failures {
  let count = 0;
  let last: Promise<void> = Promise.resolve();
  return {
    note(error) {
      if (++count > MOST_ENTRIES) return;
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      const entry = `${clock.now().toISOString()} ${text}\n`;
      last = last.then(() => appendLog(directory, 'runner.log', entry)).catch(() => {});
    },
    settled: () => last,
  };
}
