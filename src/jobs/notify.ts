/** That the Session which started a job was told of its end (J12). */
import { writeFileAtomic } from '../lib/atomic-file.ts';
import type { Clock } from '../lib/clock.ts';
import { LockTakenError, takeLock } from '../lib/kernel-lock.ts';
import { jobFile, LOCK_FILE } from './files.ts';
import type { JobDirectory } from './places.ts';
import { RECORD_FILE, readRecord, recordText } from './record.ts';

/**
 * Writes `notifiedAt`. A job that runs again meanwhile, or cannot be read, is left as it is: its next end is told anew.
 *
 * @throws FileError
 */
export async function markNotified(directory: JobDirectory, clock: Clock): Promise<void> {
  try {
    const lock = await takeLock(jobFile(directory, LOCK_FILE), { clock });
    try {
      const facts = await readRecord(directory);
      if (facts.kind !== 'job' || facts.record.notifiedAt !== null) return;
      const record = { ...facts.record, notifiedAt: clock.now().toISOString() };
      await writeFileAtomic(`${directory}/${RECORD_FILE}`, recordText(record));
    } finally {
      lock.release();
    }
  } catch (error) {
    if (!(error instanceof LockTakenError)) throw error;
  }
}
