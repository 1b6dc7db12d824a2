/** What is done to the entries of an open directory: each by its handle, so that no swapped path leads elsewhere. */
import {
  type Dirent,
  fsyncSync,
  linkSync,
  lstatSync,
  opendirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  type Stats,
  unlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import type { DirectoryHandle } from './directory-handle.ts';
import { hasCode } from './errors.ts';
import { FileError } from './file-error.ts';
import type { AddressOf } from './in-directory.ts';

/** Entries that one system call brings; more only costs memory. */
const ENTRIES_AT_ONCE = 512;
/** A directory of no more bytes is read at once: of 10,000 small ones, a stream for each takes longer than all else. */
const SMALL_BYTES = 16 * 1024;

/** What lies there, links not followed; undefined where there is nothing. */
export function statChild(
  parent: DirectoryHandle,
  name: string,
  addressOf: AddressOf = parent.at,
): Stats | undefined {
  const address = addressOf(name);
  try {
    return lstatSync(address, { throwIfNoEntry: false });
  } catch (error) {
    throw new FileError('look at', join(parent.path, name), error);
  }
}

/** As rename(2): what stands at the new place is replaced, so whoever must keep it looks first, under a lock. */
export function renameChild(from: DirectoryHandle, name: string, to: DirectoryHandle, newName: string): void {
  try {
    renameSync(from.at(name), to.at(newName));
  } catch (error) {
    throw new FileError('move', join(from.path, name), error);
  }
}

/** A second name for a file. Never replaces anything: `code` is EEXIST where something stands. */
export function linkChild(from: DirectoryHandle, name: string, to: DirectoryHandle, newName: string): void {
  try {
    linkSync(from.at(name), to.at(newName));
  } catch (error) {
    throw new FileError('link', join(from.path, name), error);
  }
}

/** Removes one name of a file or link; never a directory. */
export function unlinkChild(parent: DirectoryHandle, name: string): void {
  try {
    unlinkSync(parent.at(name));
  } catch (error) {
    throw new FileError('remove', join(parent.path, name), error);
  }
}

/** Removes a directory if it is empty at that very moment; false when it is not, is no directory, or is gone. */
export function removeEmptyChild(parent: DirectoryHandle, name: string): boolean {
  try {
    rmdirSync(parent.at(name));
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR', 'EBUSY')) return false;
    throw new FileError('remove directory', join(parent.path, name), error);
  }
}

/**
 * The entries of a directory, as the system gives them, never all of a large one in memory. Entries may be removed meanwhile; what
 * is added may be seen or not.
 *
 * @throws FileError
 */
export function* entriesOf(directory: DirectoryHandle): Generator<Dirent, void, undefined> {
  for (const entries of entryListsOf(directory)) yield* entries;
}

/** As {@link entriesOf}, several hundred at a time, for whoever looks at all of them. */
export function* entryListsOf(directory: DirectoryHandle): Generator<readonly Dirent[], void, undefined> {
  if (directory.bytes <= SMALL_BYTES) {
    yield reading(directory, () => readdirSync(directory.at('.'), { withFileTypes: true }));
    return;
  }
  const stream = reading(directory, () => opendirSync(directory.at('.'), { bufferSize: ENTRIES_AT_ONCE }));
  try {
    for (;;) {
      const entries: Dirent[] = [];
      while (entries.length < ENTRIES_AT_ONCE) {
        const entry = reading(directory, () => stream.readSync());
        if (entry === null) break;
        entries.push(entry);
      }
      if (entries.length > 0) yield entries;
      if (entries.length < ENTRIES_AT_ONCE) return;
    }
  } finally {
    stream.closeSync();
  }
}

function reading<T>(directory: DirectoryHandle, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new FileError('read directory', directory.path, error);
  }
}

/** Makes renames and removals in it survive a power cut; file systems that cannot say EINVAL. */
export function syncDirectory(directory: DirectoryHandle): void {
  try {
    fsyncSync(directory.fd);
  } catch (error) {
    if (!hasCode(error, 'EINVAL', 'EBADF')) throw new FileError('sync', directory.path, error);
  }
}
