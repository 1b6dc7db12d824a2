/** Reading what somebody else may have written: regular files only, bounded, never through a link that leads out (rule 8). */
import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath, stat } from 'node:fs/promises';
import { isAbsolute, relative, sep } from 'node:path';
import { hasCode, LimitError, OperationError } from './errors.ts';
import { FileError } from './file-error.ts';

export interface ConfinedOptions {
  /**
   * The directory that the file must really lie in. Links on the way are followed while they stay inside. Without
   * it the path itself is trusted but for its last component, which must not be a link.
   */
  within?: string;
}

/** What lies there is not what may be read: a link that leads out, a fifo, a device, a directory. */
export class UnsafeFileError extends OperationError {
  readonly path: string;

  constructor(path: string, reason: string) {
    super(`${path} is not read: ${reason}`);
    this.path = path;
  }
}

/**
 * The whole content of a regular file, or undefined where there is none.
 *
 * @throws UnsafeFileError, LimitError (longer than `maxBytes`), FileError (the system refused)
 */
export async function readRegularFile(
  path: string,
  { maxBytes, ...confined }: ConfinedOptions & { maxBytes: number },
): Promise<Buffer | undefined> {
  const handle = await openRegularFile(path, confined);
  if (!handle) return undefined;
  try {
    return await readBounded(handle, path, maxBytes);
  } finally {
    await handle.close();
  }
}

/**
 * The first bytes of a regular file, and how many it has; undefined where there is none.
 *
 * @throws UnsafeFileError, FileError
 */
export async function readBeginning(
  path: string,
  maxBytes: number,
): Promise<{ readonly bytes: Buffer; readonly size: number } | undefined> {
  const handle = await openRegularFile(path);
  if (!handle) return undefined;
  try {
    const { size } = await handle.stat();
    const bytes = Buffer.allocUnsafe(Math.min(size, maxBytes));
    let total = 0;
    while (total < bytes.length) {
      const { bytesRead } = await handle.read(bytes, total, bytes.length - total, total);
      if (bytesRead === 0) break;
      total += bytesRead;
    }
    return { bytes: bytes.subarray(0, total), size };
  } catch (error) {
    throw new FileError('read', path, error);
  } finally {
    await handle.close();
  }
}

/**
 * Opens a regular file for reading, or gives undefined where there is none. Links swapped in between looking and
 * opening are caught: what counts is the file that was opened.
 *
 * @throws UnsafeFileError, FileError
 */
export async function openRegularFile(
  path: string,
  { within }: ConfinedOptions = {},
): Promise<FileHandle | undefined> {
  let handle: FileHandle | undefined;
  try {
    const root = within === undefined ? undefined : await realpath(within);
    const real = root === undefined ? path : await realpath(path);
    if (root !== undefined && !isInside(root, real))
      throw new UnsafeFileError(path, `it leads out of ${within}`);
    // Before opening too: to open a device can already do something.
    refuseIrregular(path, await lstat(real));
    // O_NONBLOCK: a fifo swapped in now must not hang us.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
    handle = await open(real, flags);
    refuseIrregular(path, await handle.stat());
    if (root !== undefined && !(await liesInside(handle, real, root))) {
      throw new UnsafeFileError(path, 'it was replaced while it was opened');
    }
    return handle;
  } catch (error) {
    await handle?.close();
    if (error instanceof UnsafeFileError) throw error;
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    if (hasCode(error, 'ELOOP')) throw new UnsafeFileError(path, 'it is a link');
    throw new FileError('read', path, error);
  }
}

function refuseIrregular(path: string, stats: Stats): void {
  if (stats.isSymbolicLink()) throw new UnsafeFileError(path, 'it is a link');
  if (!stats.isFile()) throw new UnsafeFileError(path, 'it is not a regular file');
}

/** True when `path` is `root` or below it; both canonical. */
function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** Where the opened file really is, whatever was swapped on the way to it. */
async function liesInside(handle: FileHandle, real: string, root: string): Promise<boolean> {
  try {
    return isInside(root, await readlink(`/proc/self/fd/${handle.fd}`));
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'ENOTDIR')) throw error;
  }
  // No /proc (macOS): the path must still be canonical and still lead to the same file.
  if ((await realpath(real)) !== real) return false;
  const [opened, there] = [await handle.stat(), await stat(real)];
  return opened.dev === there.dev && opened.ino === there.ino;
}

async function readBounded(handle: FileHandle, path: string, maxBytes: number): Promise<Buffer> {
  const { size } = await handle.stat();
  const tooLong = new LimitError(`${path} is longer than the ${maxBytes} bytes that are read of it`);
  if (size > maxBytes) throw tooLong;
  const pieces: Buffer[] = [];
  let total = 0;
  try {
    for (;;) {
      // One byte more than was promised: a file that grows meanwhile is noticed, and read to its end.
      const room = Math.min(Math.max(size - total, 4_096), maxBytes - total) + 1;
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(room), 0, room, null);
      if (bytesRead === 0) return Buffer.concat(pieces, total);
      total += bytesRead;
      if (total > maxBytes) throw tooLong;
      pieces.push(buffer.subarray(0, bytesRead));
    }
  } catch (error) {
    throw error instanceof LimitError ? error : new FileError('read', path, error);
  }
}
