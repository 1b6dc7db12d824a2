/** What a job without a runner has left running: its pi, for a moment, and that one's tools, for as long as they like (J4). */

import type { JobDeps } from './create.ts';
import { readSmall } from './files.ts';
import { endJobProcesses, type HuntReport } from './hunt/end-processes.ts';
import type { JobDirectory } from './places.ts';
import { takeJobLock } from './reopen.ts';

/** What an old pi gets before it is killed (J4). */
const GRACE_MS = 5_000;
/** Whoever only probes or reads a job's lock is gone by then. */
const LOCK_MS = 250;

/**
 * Ends it, under the job's lock: so that no next run begins meanwhile whose processes would be taken for the old ones.
 *
 * @throws JobRunningError, JobNotFoundError, FileError
 */
export async function endDeadJob(directory: JobDirectory, deps: JobDeps): Promise<HuntReport> {
  const lock = await takeJobLock(directory, 'killed', { ...deps, lockWaitMs: LOCK_MS });
  try {
    return await endLeftBehind(directory, deps);
  } finally {
    lock.release();
  }
}

/** The same for who has the lock. A run with an end has left nothing. */
export async function endLeftBehind(
  directory: JobDirectory,
  { clock }: Pick<JobDeps, 'clock'>,
): Promise<HuntReport> {
  if ((await readSmall(directory, 'exit_code')) !== undefined) return { ended: 0, survivors: [] };
  return endJobProcesses(directory, { clock, graceMs: GRACE_MS });
}
