/** Where this pi's jobs are, and who calls: the Session that is open, whatever its environment says. */
import { type JobContext, jobContext } from '../../jobs/context.ts';

export type JobsHere = JobContext;

/** @throws BrokenJobError when the environment names a job that there is not */
export async function jobsHere(session: string): Promise<JobsHere> {
  const context = await jobContext();
  return { ...context, caller: { ...context.caller, session } };
}
