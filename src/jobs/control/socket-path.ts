/** Where a job's socket lies, and how it is reached however long the path to it is (J9). */
import { closeSync, constants, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { FileError } from '../../lib/file-error.ts';
import { type JobDirectory, type JobsPlace, socketDirectory, socketName } from '../places.ts';

/** The kernel takes 107 bytes, other systems 103; a longer path would be cut without a word. */
const MAX_PATH_BYTES = 99;

export function socketFile(place: JobsPlace, job: JobDirectory): string {
  return join(socketDirectory(place), socketName(job));
}

/**
 * Hands a path to `use` by which the socket can be bound or connected to. Too long a one goes through the open directory,
 * which is closed when `use` has returned: by then the kernel has followed it.
 *
 * @throws FileError when the directory is not there, or the path is too long and the system has no `/proc`
 */
export function withSocketPath<T>(place: JobsPlace, job: JobDirectory, use: (path: string) => T): T {
  const path = socketFile(place, job);
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return use(path);
  const directory = socketDirectory(place);
  if (!existsSync('/proc/self/fd')) {
    throw new FileError(
      'reach',
      path,
      new Error('its path is too long; set XDG_STATE_HOME to a shorter one'),
    );
  }
  let fd: number;
  try {
    fd = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  } catch (error) {
    throw new FileError('open', directory, error);
  }
  try {
    return use(`/proc/self/fd/${fd}/${socketName(job)}`);
  } finally {
    closeSync(fd);
  }
}
