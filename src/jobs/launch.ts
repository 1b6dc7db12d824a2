/** Starting the runner of a job, which goes on without the command that starts it (J2, J4). */
import { closeSync, openSync } from 'node:fs';
import type { Clock } from '../lib/clock.ts';
import { messageOf, OperationError } from '../lib/errors.ts';
import { FileError } from '../lib/file-error.ts';
import { spawnDetached } from '../lib/small-process.ts';
import { jobFile, LOG_FLAGS } from './files.ts';
import type { HeldJob } from './held-job.ts';
import { detachedEnvironment } from './hunt/marks.ts';
import { commitRun } from './runner/result.ts';

/** Where the runner finds the open lock. */
export const LOCK_FD = 3;

export interface LaunchOptions {
  readonly clock: Clock;
  /** Of the command: the agent gets it too (J8). */
  readonly env: NodeJS.ProcessEnv;
  /** Node, and the program `multi-agent-runner`; the job's directory is added. */
  readonly runner: { readonly command: string; readonly args: readonly string[] };
}

/** No runner could be started; the job is failed and says so. */
export class RunnerStartError extends OperationError {
  constructor(command: string, cause: unknown) {
    super(`the job's runner could not be started (${command}): ${messageOf(cause)}`, {
      cause,
      hint: 'check that pi-sandbox is installed whole',
    });
  }
}

/**
 * Starts a runner in a session of its own and leaves the job's lock to it. Waits only until the program runs.
 *
 * @throws RunnerStartError, and then the job has ended as `failed`
 */
export async function launchRunner(held: HeldJob, { clock, env, runner }: LaunchOptions): Promise<void> {
  const { directory, lock } = held;
  try {
    const log = openRunnerLog(directory);
    try {
      await spawnDetached({
        command: runner.command,
        args: [...runner.args, directory],
        env: detachedEnvironment(env),
        log,
        lock: lock.fd,
      });
    } finally {
      closeSync(log);
    }
  } catch (error) {
    const failure = new RunnerStartError(runner.command, error);
    const end = { status: 'failed', reason: `not-started: ${failure.message}` } as const;
    await commitRun(directory, clock, { output: '', stderr: '' }, end).finally(() => lock.release());
    throw failure;
  }
  lock.leaveToChild();
}

/** What ends a runner without its own doing, such as a lack of memory, is told by Node itself. */
function openRunnerLog(directory: string): number {
  const path = jobFile(directory, 'runner.log');
  try {
    return openSync(path, LOG_FLAGS, 0o600);
  } catch (error) {
    throw new FileError('open', path, error);
  }
}
