/** One request to a running job, for the verbs that make one. */
import { type Asked, askJob, type ControlAnswer, type JobDirectory } from '../../jobs/index.ts';
import { OperationError } from '../../lib/errors.ts';
import type { JobContext } from './context.ts';

/** The runner understood the request and did not do it. */
export class JobRefusedError extends OperationError {
  readonly code: string;

  constructor(job: string, code: string, message: string) {
    super(`job "${job}": ${message}`, { hint: `multi-agent status ${job}` });
    this.code = code;
  }
}

/** @throws JobNotRunningError, JobSilentError, JobRefusedError, TimeoutError */
export async function ask(
  { place, deps }: JobContext,
  directory: JobDirectory,
  name: string,
  request: Asked,
): Promise<Extract<ControlAnswer, { ok: true }>> {
  const answer = await askJob(place, directory, request, { clock: deps.clock });
  if (answer.ok) return answer;
  throw new JobRefusedError(name, answer.error.code, answer.error.message);
}
