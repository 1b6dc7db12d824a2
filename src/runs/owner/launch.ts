/** Starting the owner of a run, which goes on without the command that starts it (R6). */
import { closeSync, constants, openSync } from 'node:fs';
import { join } from 'node:path';
import { detachedEnvironment } from '../../jobs/index.ts';
import { messageOf, OperationError } from '../../lib/errors.ts';
import { FileError } from '../../lib/file-error.ts';
import { spawnDetached } from '../../lib/small-process.ts';
import type { HeldRun } from '../held-run.ts';
import type { RunDirectory } from '../places.ts';

/** Where the owner finds the open lock. */
export const OWNER_LOCK_FD = 3;
const LOG_FLAGS =
  constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** What an owner could not do and nobody else is told: 0600 in the run's directory. */
export function ownerLog(run: RunDirectory): string {
  return join(run, 'owner.log');
}

/** Opens it to be appended to. @throws FileError */
export function openOwnerLog(run: RunDirectory): number {
  const path = ownerLog(run);
  try {
    return openSync(path, LOG_FLAGS, 0o600);
  } catch (error) {
    throw new FileError('open', path, error);
  }
}

export interface LaunchOwnerOptions {
  /** Of the command: the agents get it too (J8). */
  readonly env: NodeJS.ProcessEnv;
  /** Node, and the program `multi-agent-owner`; the run's directory is added. */
  readonly owner: { readonly command: string; readonly args: readonly string[] };
}

/** No owner could be started; the run waits for one as it is. */
export class OwnerStartError extends OperationError {
  constructor(run: string, command: string, cause: unknown) {
    super(`the owner of run ${run} could not be started (${command}): ${messageOf(cause)}`, {
      cause,
      hint: `multi-agent runs take-ownership ${run} --continue tries again`,
    });
  }
}

/**
 * Starts an owner in a session of its own and leaves the run's lock to it. Waits only until the program runs.
 *
 * @throws OwnerStartError, FileError; the lock is free then
 */
export async function launchOwner(held: HeldRun, { env, owner }: LaunchOwnerOptions): Promise<void> {
  const { directory, lock, manifest } = held;
  try {
    const log = openOwnerLog(directory);
    try {
      await spawnDetached({
        command: owner.command,
        args: [...owner.args, directory],
        env: detachedEnvironment(env),
        log,
        lock: lock.fd,
      });
    } finally {
      closeSync(log);
    }
  } catch (error) {
    lock.release();
    throw error instanceof FileError ? error : new OwnerStartError(manifest.runId, owner.command, error);
  }
  lock.leaveToChild();
}
