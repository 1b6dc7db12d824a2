/** Where a Unix socket lies, and how it is reached however long the path to it is (J9). */
import { closeSync, constants, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { FileError } from './file-error.ts';

/** The kernel takes 107 bytes, other systems 103; a longer path would be cut without a word. */
const MAX_PATH_BYTES = 99;

export interface SocketPlace {
  readonly directory: string;
  readonly name: string;
  /** The variable that moves it, for a system where a path can be too long. */
  readonly variable: string;
}

export function socketPath({ directory, name }: SocketPlace): string {
  return join(directory, name);
}

/**
 * Hands a path to `use` by which the socket can be bound or connected to. Too long a one goes through the open directory,
 * which is closed when `use` has returned: by then the kernel has followed it.
 *
 * @throws FileError when the directory is not there, or the path is too long and the system has no `/proc`
 */
export function throughSocketPath<T>(place: SocketPlace, use: (path: string) => T): T {
  const path = socketPath(place);
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return use(path);
  const { directory, name, variable } = place;
  if (!existsSync('/proc/self/fd')) {
    throw new FileError('reach', path, new Error(`its path is too long; set ${variable} to a shorter one`));
  }
  let fd: number;
  try {
    fd = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  } catch (error) {
    throw new FileError('open', directory, error);
  }
  try {
    return use(`/proc/self/fd/${fd}/${name}`);
  } finally {
    closeSync(fd);
  }
}
