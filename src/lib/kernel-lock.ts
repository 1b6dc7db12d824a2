/**
 * Locks that the kernel drops when their process dies: the only proof of life there is (rule 1). A lock belongs to
 * an open file, so it excludes equally inside one process, between processes and between containers that mount the
 * same volume, and no pid or host name is ever compared.
 *
 * Lock files are never deleted: a holder of a deleted file and a holder of its successor would both be right.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  statSync,
  writeSync,
} from 'node:fs';
import { type Clock, systemClock } from './clock.ts';
import { hasCode, OperationError } from './errors.ts';
import { FileError, spelledOut } from './file-error.ts';
import { native } from './lock-addon.ts';
import { encodeLockRecord, type LockRecord, readLockRecord } from './lock-record.ts';
import { safeForTerminal } from './redact.ts';
import { retryUntil } from './retry.ts';

/** Probes hold a shared lock for a moment, so a taker tries this long before it says that a lock is taken. */
const TAKE_MS = 250;
/** Deleted and recreated under us that often: something deletes lock files, which nothing may. */
const MAX_REPLACEMENTS = 100;

export interface KernelLock {
  readonly path: string;
  /** Lets go; a second call does nothing. */
  release(): void;
}

/** A lock that can go on in another process. */
export interface FileLock extends KernelLock {
  /** For `stdio` of a child that shall hold the lock on: it belongs to the open file, which both then have (J2). */
  readonly fd: number;
  /** Closes the file without unlocking it: a child that was given it holds the lock alone from now on. */
  leaveToChild(): void;
}

/** Bytes of a lock file, which need not exist. A length of 0 is all from the offset on. */
export interface LockRange {
  readonly offset: number;
  readonly length: number;
}

export interface LockOptions {
  /** Written into the file for people to read; decides nothing. */
  record?: LockRecord;
  /** Only these bytes are locked, so that several may hold one file, each its own part. Without it, all. */
  range?: LockRange;
  /** The file is one with a content of its own: it is neither made nor written. */
  borrowed?: boolean;
}

const WHOLE: LockRange = { offset: 0, length: 0 };

/** Somebody else holds the lock; `record` is what they wrote beside it, if that is readable. */
export class LockTakenError extends OperationError {
  readonly path: string;
  readonly record: LockRecord | undefined;

  constructor(given: string, record: LockRecord | undefined) {
    const path = spelledOut(given);
    const holder = record
      ? `by ${record.what} (process ${record.pid} on ${record.host}, since ${record.startedAt})`
      : 'by another process';
    super(safeForTerminal(`${path} is held ${holder}`));
    this.path = path;
    this.record = record;
  }
}

/**
 * Takes the lock now, or gives undefined when someone holds it or is just probing it: use {@link takeLock} unless
 * you try again yourself. The file is made (0600) where it is missing, its directory is not.
 *
 * @throws FileError when the file cannot be opened, is a link, or is not a regular file
 */
export function tryLock(
  path: string,
  { record, range = WHOLE, borrowed = false }: LockOptions = {},
): FileLock | undefined {
  for (let attempt = 0; attempt < MAX_REPLACEMENTS; attempt++) {
    const fd = openLockFile(path, borrowed ? constants.O_RDWR : constants.O_RDWR | constants.O_CREAT);
    try {
      if (!native().tryLock(fd, range.offset, range.length)) {
        closeSync(fd);
        return undefined;
      }
      // Held, but is it still the file that the next one will open?
      if (isSameFile(fd, path)) {
        // Whoever holds another part may have written one.
        if (range === WHOLE && !borrowed) writeRecord(fd, record);
        return heldLock(path, fd);
      }
    } catch (error) {
      closeSync(fd);
      throw new FileError('lock', path, error);
    }
    closeSync(fd);
  }
  throw new FileError('lock', path, new OperationError('something keeps deleting it'));
}

/**
 * Takes the lock, trying for `waitMs` milliseconds.
 *
 * @throws LockTakenError when it is still held then
 */
export async function takeLock(
  path: string,
  options: LockOptions & { waitMs?: number; clock?: Clock; signal?: AbortSignal } = {},
): Promise<FileLock> {
  const { waitMs = TAKE_MS, clock = systemClock, signal } = options;
  const lock = await retryUntil(() => tryLock(path, options), {
    deadlineMs: waitMs,
    clock,
    ...(signal ? { signal } : {}),
  });
  if (lock) return lock;
  throw new LockTakenError(path, readLockRecord(path));
}

/** True while some process, in whatever container, holds the lock. Never makes the file. */
export function isHeld(path: string): boolean {
  // Mostly there is none; to find that out by a failed open costs ten times as much.
  try {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return false;
  } catch (error) {
    throw new FileError('probe', path, error);
  }
  let fd: number;
  try {
    fd = openLockFile(path, constants.O_RDONLY);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
  try {
    return !native().tryLock(fd, 0, 0, { shared: true });
  } catch (error) {
    throw new FileError('probe', path, error);
  } finally {
    closeSync(fd);
  }
}

/** Node opens everything close-on-exec, so no child inherits the lock and outlives its holder with it. */
function openLockFile(path: string, flags: number): number {
  let fd: number;
  try {
    // O_NONBLOCK: a fifo put in the lock's place must not hang us.
    fd = openSync(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o600);
  } catch (error) {
    const reason = hasCode(error, 'ELOOP') ? new OperationError('it is a link') : error;
    throw new FileError('open lock', path, reason);
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw new OperationError('it is not a regular file');
    // A probe changes nothing, so that it also works where nothing can be changed.
    const isOurs = flags !== constants.O_RDONLY && stat.nlink === 1 && stat.uid === process.getuid?.();
    if (stat.size === 0 && (stat.mode & 0o777) !== 0o600 && isOurs) fchmodSync(fd, 0o600);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw new FileError('open lock', path, error);
  }
}

/**
 * Whether others who open the lock's path still find it held. Where somebody has replaced the file they do not, and who holds
 * the old one must not go on as if it were alone.
 */
export function isStillTheLock({ fd, path }: FileLock): boolean {
  try {
    return isSameFile(fd, path);
  } catch (error) {
    throw new FileError('look at lock', path, error);
  }
}

function isSameFile(fd: number, path: string): boolean {
  const mine = fstatSync(fd);
  const there = statSync(path, { throwIfNoEntry: false });
  return there !== undefined && there.ino === mine.ino && there.dev === mine.dev;
}

/**
 * The lock holds without a record too: a full disk must not keep anyone from it. A file that has another name is also
 * somebody else's (rule 8): nothing is written into it.
 */
function writeRecord(fd: number, record: LockRecord | undefined): void {
  try {
    const { size, nlink } = fstatSync(fd);
    if (nlink > 1) return;
    if (size > 0) ftruncateSync(fd, 0);
    if (record) writeSync(fd, encodeLockRecord(record), 0);
  } catch (error) {
    if (!hasCode(error, 'ENOSPC', 'EDQUOT', 'EIO')) throw error;
  }
}

/**
 * A lock that the process which started this one took, and handed over as an open file. A child of ours does not get it
 * in turn: Node closes inherited files in its children.
 */
export function inheritedLock(path: string, fd: number): FileLock {
  return heldLock(path, fd);
}

function heldLock(path: string, fd: number): FileLock {
  let held = true;
  const close = (unlock: boolean): void => {
    if (!held) return;
    held = false;
    if (unlock) native().unlock(fd);
    closeSync(fd);
  };
  return { path, fd, release: () => close(true), leaveToChild: () => close(false) };
}
