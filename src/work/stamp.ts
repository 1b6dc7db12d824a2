/** Times that are kept as a file's mtime: one call, and no content that a crash could tear. */
import { closeSync, futimesSync } from 'node:fs';
import { join } from 'node:path';
import { type DirectoryHandle, openChildFile } from '../lib/directory-handle.ts';
import { FileError } from '../lib/file-error.ts';

/**
 * Sets a file's mtime.
 *
 * @param flags as for open(2): whether it is made where it is missing
 * @throws FileError, NotRegularFileError
 */
export function stampFile(directory: DirectoryHandle, name: string, now: Date, flags: number): void {
  const { fd } = openChildFile(directory, name, flags);
  try {
    futimesSync(fd, now, now);
  } catch (error) {
    throw new FileError('touch', join(directory.path, name), error);
  } finally {
    closeSync(fd);
  }
}
