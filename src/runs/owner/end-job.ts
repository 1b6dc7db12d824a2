/** Ending the job of a step whose end is wanted: by the end of its turn, and by force when that takes too long (R3). */
import { askJob, type JobDirectory, JobNotRunningError, type JobsPlace } from '../../jobs/index.ts';
import type { Clock } from '../../lib/clock.ts';

/** What an agent that is aborted gets to end its turn. */
const ABORT_MS = 10_000;

export interface EndOptions {
  readonly clock: Clock;
  /** When the job has ended, or nobody waits for it any more. */
  readonly ended: AbortSignal;
  readonly onFailure: (error: unknown) => void;
}

/** Never rejects: a job that cannot be spoken with is followed on, until its own time is over. */
export async function endJob(
  place: JobsPlace,
  job: JobDirectory,
  { clock, ended, onFailure }: EndOptions,
): Promise<void> {
  /** Whether it has ended; what it answers it answers then. */
  const ask = async (op: 'abort' | 'kill'): Promise<boolean> => {
    try {
      await askJob(place, job, { op }, { clock });
      return true;
    } catch (error) {
      if (error instanceof JobNotRunningError) return true;
      if (!ended.aborted) onFailure(error);
      return false;
    }
  };
  const late = clock.sleep(ABORT_MS, ended).catch(() => undefined);
  const aborted = ask('abort');
  const first = await Promise.race([aborted, late]);
  if (first === true || ended.aborted) return;
  await late;
  if (!ended.aborted) await ask('kill');
}
