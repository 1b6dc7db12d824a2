/**
 * `.deletions.log` (rule 3): every run that was removed. A line says what goes and why before anything is done to it, another
 * how large it was, or that it stayed: so no crash leaves a deletion unlogged.
 */
import { takeLock } from '../lib/kernel-lock.ts';
import { appendToRotatedLog } from '../lib/rotated-log.ts';
import { type RunDirectory, type RunsPlace, runDeletionLock, runDeletionLog } from './places.ts';
import type { RunDeps } from './request.ts';

const VERSION = 1;
/** Some 30,000 runs, and as many in the log before it (rule 7). */
const MAX_BYTES = 8 * 1_024 * 1_024;
/** A line is on the disk within moments. */
const LOCK_MS = 10_000;

/** `asked`: by its id. `retention`: it ended longer ago than it is kept. `leftover`: of a start or removal that was killed. */
export type RunRemovalReason = 'asked' | 'retention' | 'leftover';

export type RunLogLine =
  | {
      readonly event: 'removing';
      readonly run: RunDirectory;
      readonly why: RunRemovalReason;
      /** Null where it could not be read. */
      readonly status: string | null;
      readonly project: string | null;
    }
  | {
      readonly event: 'removed';
      readonly run: RunDirectory;
      readonly bytes: number;
      readonly entries: number;
    }
  | { readonly event: 'kept'; readonly run: RunDirectory; readonly reason: string };

/** @throws FileError, LockTakenError; nothing is deleted that could not be announced */
export async function logRunDeletion(
  place: RunsPlace,
  line: RunLogLine,
  { clock }: Pick<RunDeps, 'clock'>,
): Promise<void> {
  const lock = await takeLock(runDeletionLock(place), { waitMs: LOCK_MS, clock });
  try {
    const value = { version: VERSION, at: clock.now().toISOString(), ...line };
    await appendToRotatedLog(runDeletionLog(place), value, MAX_BYTES);
  } finally {
    lock.release();
  }
}
