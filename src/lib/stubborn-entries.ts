/**
 * Entries that stand in the way of deleting a tree of one's own: names that are no text, and directories without rights
 * for their owner (rule 3). Each is reached through its open parent, and no link is followed.
 */
import { isUtf8 } from 'node:buffer';
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  lstatSync,
  opendirSync,
  openSync,
  renameSync,
  type Stats,
} from 'node:fs';
import { type DirectoryHandle, rawAt } from './directory-handle.ts';
import { FileError } from './file-error.ts';

/** Linux: a descriptor that stands for a file without any right to it. Node has no name for it. */
const O_PATH = 0o10000000;
const OWNERS_ALONE = 0o700;

/** A name as Node gives it, of bytes that are no UTF-8: nothing can be reached by it. */
export function isUndecodable(name: string): boolean {
  return name.includes('\ufffd');
}

/**
 * The entries of a directory whose names are no UTF-8.
 *
 * @throws FileError
 */
export function* undecodableEntries(
  directory: DirectoryHandle,
): Generator<{ name: Buffer; isDirectory: boolean }, void, undefined> {
  try {
    // Every byte is one character of this encoding.
    const stream = opendirSync(directory.at('.'), { encoding: 'latin1' });
    try {
      for (let entry = stream.readSync(); entry !== null; entry = stream.readSync()) {
        const name = Buffer.from(entry.name, 'latin1');
        if (!isUtf8(name)) yield { name, isDirectory: entry.isDirectory() };
      }
    } finally {
      stream.closeSync();
    }
  } catch (error) {
    throw error instanceof FileError ? error : new FileError('read directory', directory.path, error);
  }
}

/** As `statChild` of directory-entries.ts, for such a name. */
export function statUndecodable(directory: DirectoryHandle, name: Buffer): Stats | undefined {
  try {
    return lstatSync(rawAt(directory, name), { throwIfNoEntry: false });
  } catch (error) {
    throw new FileError('look at an entry of', directory.path, error);
  }
}

/**
 * Gives those entries names that are text.
 *
 * @throws FileError
 */
export function renameUndecodable(directory: DirectoryHandle, newName: () => string): void {
  for (const { name } of undecodableEntries(directory)) {
    try {
      renameSync(rawAt(directory, name), directory.at(newName()));
    } catch (error) {
      throw new FileError('rename in', directory.path, error);
    }
  }
}

/**
 * Gives the owner every right to an open directory: programs make read-only ones (Go's module cache).
 *
 * @throws FileError when it is another user's
 */
export function grantOwner(directory: DirectoryHandle): void {
  try {
    fchmodSync(directory.fd, OWNERS_ALONE);
  } catch (error) {
    throw new FileError('change', directory.path, error);
  }
}

/**
 * As {@link grantOwner}, for one that cannot even be opened. Only where a descriptor has a path (Linux); elsewhere such
 * a directory stays closed.
 *
 * @throws FileError
 */
export function grantOwnerOfChild(parent: DirectoryHandle, name: string): void {
  const path = `${parent.path}/${name}`;
  try {
    if (parent.byPath) throw Object.assign(new Error('permission denied'), { code: 'EACCES' });
    const address = parent.at(name);
    const fd = openSync(address, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    try {
      // The descriptor leads to the directory that was opened, whatever stands at the name by now.
      chmodSync(`/proc/${process.pid}/fd/${fd}`, OWNERS_ALONE);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    throw new FileError('change', path, error);
  }
}
