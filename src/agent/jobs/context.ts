/** What a verb works with: the places of this environment, who calls, and whose project it is. */
import { homedir, hostname } from 'node:os';
import { join } from 'node:path';
import {
  type Caller,
  callerOf,
  findJob,
  type JobDeps,
  type JobDirectory,
  type JobProject,
  type JobRecord,
  type JobsPlace,
  jobsPlace,
  logicalDirectory,
  type PiProgram,
  parseJobName,
  type RemoveDeps,
} from '../../jobs/index.ts';
import { systemClock } from '../../lib/clock.ts';
import { hasCode, OperationError } from '../../lib/errors.ts';
import { sessionLockDirectory } from '../../pi/index.ts';

/** pi as every shell finds it: in a sandbox that is its launcher (S8). */
export const PI: PiProgram = { command: 'pi', args: [] };

export interface JobContext {
  readonly env: NodeJS.ProcessEnv;
  readonly place: JobsPlace;
  readonly caller: Caller;
  readonly project: JobProject;
  /** The directory of the command, as its user spells it. */
  readonly directory: string;
  readonly deps: JobDeps & RemoveDeps;
}

/** @throws BrokenJobError, OperationError, FileError */
export async function jobContext(): Promise<JobContext> {
  const { env } = process;
  const real = workingDirectory();
  const caller = await callerOf(env, real);
  return {
    env,
    place: jobsPlace(env, homedir()),
    caller,
    project: caller.project,
    directory: logicalDirectory(env, real),
    deps: {
      clock: systemClock,
      identity: { pid: process.pid, host: env.PI_SANDBOX_NAME ?? hostname() },
      sessionLocks: sessionLockDirectory(env),
    },
  };
}

function workingDirectory(): string {
  try {
    return process.cwd();
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    throw new OperationError('the directory of this command is gone', { hint: 'go to another one first' });
  }
}

/** A job by the name that was given. @throws InvalidJobNameError, JobNotFoundError, BrokenJobError */
export function jobNamed(
  { place, project }: JobContext,
  name: string,
): Promise<{ directory: JobDirectory; record: JobRecord }> {
  return findJob(place, project, parseJobName(name));
}

/** What lies beside the program that is running: the build puts it there. */
export function beside(name: string): string {
  return join(import.meta.dirname, name);
}
