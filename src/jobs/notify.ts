/** That the Session which started a job was told of its end (J12). */
import { writeFileAtomic } from '../lib/atomic-file.ts';
import type { Clock } from '../lib/clock.ts';
import { hasCode } from '../lib/errors.ts';
import { LockTakenError, takeLock } from '../lib/kernel-lock.ts';
import { jobFile, LOCK_FILE, readSmall } from './files.ts';
import { RECORD_FILE, readRecord, recordText } from './record.ts';
import type { JobView } from './view.ts';

/**
 * Writes `notifiedAt`. A job that has run again meanwhile, or cannot be read, is left as it is: its next end is told anew.
 *
 * @param startedAt of the run whose end was told
 * @throws FileError
 */
export async function markNotified(
  { directory, startedAt }: Pick<JobView, 'directory' | 'startedAt'>,
  clock: Clock,
): Promise<void> {
  try {
    const lock = await takeLock(jobFile(directory, LOCK_FILE), { clock });
    try {
      const facts = await readRecord(directory);
      if (facts.kind !== 'job' || facts.record.notifiedAt !== null) return;
      if ((await readSmall(directory, 'started_at')) !== startedAt) return;
      const record = { ...facts.record, notifiedAt: clock.now().toISOString() };
      await writeFileAtomic(`${directory}/${RECORD_FILE}`, recordText(record), { follow: false });
    } finally {
      lock.release();
    }
  } catch (error) {
    // It runs again, or is gone with everything that could be told.
    if (!(error instanceof LockTakenError) && !hasCode(error, 'ENOENT')) throw error;
  }
}
