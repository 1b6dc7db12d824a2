/**
 * `deletions.log`: every job that was removed (rule 3). A line says what goes and why before anything is done to it, another
 * how large it was, or that it stayed: so no crash leaves a deletion unlogged.
 */
import { appendToRotatedLog } from '../lib/rotated-log.ts';
import { deletionLog, type JobDirectory, type JobsPlace } from './places.ts';

const VERSION = 1;
/** The log and the one before it: some 60,000 jobs (rule 7). */
const MAX_BYTES = 8 * 1_024 * 1_024;

/** `asked`: by its name. `age`: it ended longer ago than jobs are kept. `leftover`: a start or removal that was killed. */
export type RemovalReason = 'asked' | 'age' | 'leftover';

/** One line; `at` is ISO 8601. */
export type LogLine =
  | {
      readonly event: 'removing';
      readonly job: JobDirectory;
      /** Of the project that it belonged to. */
      readonly project: string | undefined;
      readonly why: RemovalReason;
      readonly endedAt?: string | undefined;
      readonly conversation?: string | undefined;
    }
  | {
      readonly event: 'removed';
      readonly job: JobDirectory;
      readonly bytes: number;
      readonly entries: number;
    }
  | { readonly event: 'kept'; readonly job: JobDirectory; readonly reason: string };

/** Under the removal lock. @throws FileError; nothing is deleted that could not be announced */
export async function logDeletion(place: JobsPlace, line: LogLine, now: Date): Promise<void> {
  const value = { version: VERSION, at: now.toISOString(), ...line };
  await appendToRotatedLog(deletionLog(place), value, MAX_BYTES);
}
