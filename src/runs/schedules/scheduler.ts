/** The process that watches a project's schedules: one for each project on a machine or in a sandbox (R10). */
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, ftruncateSync, openSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { detachedEnvironment } from '../../jobs/index.ts';
import { makeStateDirectory } from '../../lib/atomic-file.ts';
import { messageOf, OperationError } from '../../lib/errors.ts';
import { FileError } from '../../lib/file-error.ts';
import { type FileLock, LockTakenError, takeLock } from '../../lib/kernel-lock.ts';
import { spawnDetached } from '../../lib/small-process.ts';
import { type RunsPlace, schedulesDirectory } from '../places.ts';
import { listSchedules } from './add.ts';
import { type WatchOptions, watchSchedules } from './watch.ts';

const LOG_BYTES = 64 * 1_024;

export interface SchedulerOptions extends WatchOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Real path. */
  readonly project: string;
}

/**
 * Watches until the project has no schedule any more; ends at once where another process of this machine does. What was
 * added while it was about to end is not lost: it looks once more when its lock is free for others again.
 *
 * @throws FileError
 */
export async function runScheduler(place: RunsPlace, options: SchedulerOptions): Promise<void> {
  for (;;) {
    const lock = await only(place, options);
    if (lock === undefined) return;
    try {
      await watchSchedules(place, options);
    } finally {
      lock.release();
    }
    if (options.signal.aborted || !(await hasSchedule(place, options.project))) return;
  }
}

/** True where a scheduler has something to watch. @throws FileError */
export async function hasSchedule(place: RunsPlace, project: string): Promise<boolean> {
  const found = await listSchedules(place);
  return found.some(({ facts }) => facts.kind === 'known' && facts.value.realProject === project);
}

async function only(
  place: RunsPlace,
  { env, project, identity, clock }: SchedulerOptions,
): Promise<FileLock | undefined> {
  const directory = lockDirectory(place, env);
  await makeStateDirectory(directory);
  const name = createHash('sha256').update(`${identity.host}\0${project}`).digest('hex').slice(0, 16);
  const record = {
    pid: identity.pid,
    host: identity.host,
    startedAt: clock.now().toISOString(),
    what: `schedules of ${project}`,
  };
  try {
    return await takeLock(join(directory, `scheduler-${name}.lock`), { record });
  } catch (error) {
    if (error instanceof LockTakenError) return undefined;
    throw error;
  }
}

/** A sandbox's own, where there is one; else beside the schedules, where it does not go with a restart. */
function lockDirectory(place: RunsPlace, { XDG_RUNTIME_DIR: runtime }: NodeJS.ProcessEnv): string {
  return runtime !== undefined && isAbsolute(runtime)
    ? join(runtime, 'pi-sandbox')
    : schedulesDirectory(place);
}

export interface SchedulerLaunch {
  readonly env: NodeJS.ProcessEnv;
  /** Node, and the program `multi-agent-scheduler`; the project is added. */
  readonly scheduler: { readonly command: string; readonly args: readonly string[] };
}

/** It could not be started; the schedule is kept. */
export class SchedulerStartError extends OperationError {
  constructor(command: string, cause: unknown) {
    super(
      `nothing watches the schedules, for its process could not be started (${command}): ${messageOf(cause)}`,
      {
        cause,
        hint: 'check that pi-sandbox is installed whole',
      },
    );
  }
}

/**
 * Starts a scheduler that goes on without its starter; where one runs already, the new one ends again.
 *
 * @param project real path
 * @throws SchedulerStartError, FileError
 */
export async function startScheduler(
  place: RunsPlace,
  project: string,
  { env, scheduler }: SchedulerLaunch,
): Promise<void> {
  const log = openLog(place);
  try {
    await spawnDetached({
      command: scheduler.command,
      args: [...scheduler.args, project],
      env: detachedEnvironment(env),
      log,
    });
  } catch (error) {
    throw new SchedulerStartError(scheduler.command, error);
  } finally {
    closeSync(log);
  }
}

/** One for all: what is told in it is rare. A long one begins anew. */
function openLog(place: RunsPlace): number {
  const path = join(schedulesDirectory(place), 'scheduler.log');
  try {
    const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
    const log = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
    if (fstatSync(log).size > LOG_BYTES) ftruncateSync(log);
    return log;
  } catch (error) {
    throw new FileError('open', path, error);
  }
}
