/** The sessions directory and the room's own folder in it, and the lock under which one process changes them. */
import { dirname, join } from 'node:path';
import { type DirectoryHandle, makeChildDirectory, openDirectory } from '../lib/directory-handle.ts';
import { OperationError } from '../lib/errors.ts';
import { FileError } from '../lib/file-error.ts';
import { LockTakenError, takeLock } from '../lib/kernel-lock.ts';
import type { LockRecord } from '../lib/lock-record.ts';
import { LOCK_FILE, OWN_DIRECTORY } from './layout.ts';
import type { History, HistoryNeeds } from './types.ts';

const WAIT_MS = 10_000;

/** Another prune, restore or clear of this domain does not end; nothing was changed. */
export class HistoryBusyError extends OperationError {
  readonly holder: LockRecord | undefined;

  constructor(history: History, holder: LockRecord | undefined, waitedMs: number) {
    const who = holder ? ` (${holder.what}, process ${holder.pid} on ${holder.host})` : '';
    super(
      `the history in ${history.sessions} is being changed by another process${who}, for ${waitedMs / 1000} s now`,
      { hint: 'nothing was pruned; try again when it is done' },
    );
    this.holder = holder;
  }
}

/** What a change works on. `own` is {@link OWN_DIRECTORY}. */
export interface Opened {
  readonly root: DirectoryHandle;
  readonly own: DirectoryHandle;
}

/** Opens the sessions directory for reading; nothing in it is made. */
export function inHistory<T>(history: History, work: (root: DirectoryHandle) => T): T {
  const root = openDirectory(history.sessions);
  let later = false;
  try {
    const result = work(root);
    if (result instanceof Promise) {
      later = true;
      result.then(
        () => root.close(),
        () => root.close(),
      );
    }
    return result;
  } finally {
    if (!later) root.close();
  }
}

/**
 * Runs `work` as the only one that moves or deletes Sessions of this domain.
 *
 * @throws HistoryBusyError, FileError
 */
export async function changingHistory<T>(
  history: History,
  needs: HistoryNeeds,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  const root = openDirectory(history.sessions);
  try {
    const own = makeChildDirectory(root, OWN_DIRECTORY);
    try {
      const lock = await lockHistory(history, own, needs);
      try {
        return await work({ root, own });
      } finally {
        lock.release();
      }
    } finally {
      own.close();
    }
  } finally {
    root.close();
  }
}

async function lockHistory(history: History, own: DirectoryHandle, needs: HistoryNeeds) {
  const { waitMs = WAIT_MS, clock, signal, holder } = needs;
  try {
    return await takeLock(own.at(LOCK_FILE), {
      waitMs,
      ...(clock ? { clock } : {}),
      ...(signal ? { signal } : {}),
      ...(holder ? { record: holder } : {}),
    });
  } catch (error) {
    if (error instanceof LockTakenError) throw new HistoryBusyError(history, error.record, waitMs);
    throw named(error, own);
  }
}

/** A FileError of an address that means nothing to people, with the path they know. */
export function named(error: unknown, directory: DirectoryHandle): unknown {
  if (!(error instanceof FileError)) return error;
  const address = dirname(directory.at('x'));
  if (!error.path.startsWith(`${address}/`)) return error;
  const path = join(directory.path, error.path.slice(address.length + 1));
  return new FileError('use', path, error.cause);
}
