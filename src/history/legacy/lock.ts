/** One migration at a time in a shared volume, whichever domain's (S12). */
import { closeSync, constants, fchownSync, fstatSync } from 'node:fs';
import type { Clock } from '../../lib/clock.ts';
import { linkChild, statChild, unlinkChild } from '../../lib/directory-entries.ts';
import { type DirectoryHandle, openChildFile } from '../../lib/directory-handle.ts';
import { hasCode, OperationError } from '../../lib/errors.ts';
import { type RandomSource, randomId } from '../../lib/ids.ts';
import { type KernelLock, LockTakenError, takeLock } from '../../lib/kernel-lock.ts';
import type { LockRecord } from '../../lib/lock-record.ts';
import type { Owner } from '../transfer/destination.ts';
import { LOCK_PREFIX, STAGE_PREFIX } from './names.ts';

/** So many files may have been planted where a lock belongs, before the directory was put out of reach. */
const MAX_PLANTED = 64;

export interface StoreLockOptions {
  readonly waitMs: number;
  readonly clock: Clock;
  readonly random?: RandomSource | undefined;
  readonly holder?: LockRecord | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called once when another process has it. */
  readonly onWait?: (() => void) | undefined;
}

/**
 * Takes the store's lock; undefined when another process still has it after `waitMs`.
 *
 * Only helpers that run as root reach the file, for the store is sealed before. But a sandbox may have planted one, and
 * hold it for ever: a file that does not belong to `seal` is passed over for the next number. None is ever removed, and
 * a lock file gets its name when it has its owner: so all helpers agree on the number.
 *
 * @throws FileError, OperationError (too many were planted)
 */
export async function lockStore(
  store: DirectoryHandle,
  seal: Owner,
  options: StoreLockOptions,
): Promise<KernelLock | undefined> {
  const { clock, waitMs, signal, holder } = options;
  const path = store.at(lockName(store, seal, options.random));
  const take = async (milliseconds: number): Promise<KernelLock | undefined> => {
    try {
      return await takeLock(path, {
        waitMs: milliseconds,
        clock,
        ...(signal === undefined ? {} : { signal }),
        ...(holder === undefined ? {} : { record: holder }),
      });
    } catch (error) {
      if (error instanceof LockTakenError) return undefined;
      throw error;
    }
  };
  const atOnce = await take(Math.min(waitMs, 250));
  if (atOnce !== undefined || waitMs <= 250) return atOnce;
  options.onWait?.();
  return take(waitMs - 250);
}

function lockName(store: DirectoryHandle, seal: Owner, random: RandomSource | undefined): string {
  for (let number = 0; number < MAX_PLANTED; number++) {
    const name = `${LOCK_PREFIX}${number}`;
    if (statChild(store, name) === undefined) makeLockFile(store, name, seal, random);
    const stats = statChild(store, name);
    if (stats?.isFile() && stats.uid === seal.uid && stats.gid === seal.gid) return name;
  }
  throw new OperationError(`${store.path} cannot be locked: ${MAX_PLANTED} files were planted there`);
}

function makeLockFile(
  store: DirectoryHandle,
  name: string,
  seal: Owner,
  random: RandomSource | undefined,
): void {
  const temporary = `${STAGE_PREFIX}${randomId(16, random)}`;
  const { fd } = openChildFile(store, temporary, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL);
  try {
    if (fstatSync(fd).uid !== seal.uid || fstatSync(fd).gid !== seal.gid) fchownSync(fd, seal.uid, seal.gid);
    linkChild(store, temporary, store, name);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  } finally {
    closeSync(fd);
    unlinkChild(store, temporary);
  }
}
