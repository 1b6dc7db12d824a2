import { closeSync, constants, mkdirSync, openSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { hasCode, OperationError } from '../../lib/errors.ts';
import { moveAside } from './place-link.ts';

const OPEN = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const MAX_TRIES = 100;

/**
 * Opens a folder below `root` and hands its address to `work`, making each folder on the way. Another domain writes
 * here too: a link planted where a folder belongs is removed, a file is moved aside, and since every step goes from
 * the open folder before it, nothing that is swapped in later leads this domain's files astray (S3).
 */
export function inRealDirectory<T>(root: string, path: string, work: (directory: string) => T): T {
  const names = relative(root, path).split('/').filter(Boolean);
  if (names.includes('..')) throw new OperationError(`${path} is not below ${root}`);
  let fd = openSync(root, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    for (const name of names) {
      const next = openOrMake(`/proc/self/fd/${fd}/${name}`);
      closeSync(fd);
      fd = next;
    }
    return work(`/proc/self/fd/${fd}`);
  } finally {
    closeSync(fd);
  }
}

/** As {@link inRealDirectory}, for the folder that holds `path`; `work` gets the address of `path` itself. */
export function atRealPath<T>(root: string, path: string, work: (path: string) => T): T {
  const parent = dirname(path);
  return inRealDirectory(root, parent, (directory) => work(`${directory}${path.slice(parent.length)}`));
}

function openOrMake(path: string): number {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    try {
      return openSync(path, OPEN);
    } catch (error) {
      if (hasCode(error, 'ENOENT')) make(path);
      // O_DIRECTORY speaks before O_NOFOLLOW: a link is reported as no directory, like a file.
      else if (hasCode(error, 'ELOOP', 'ENOTDIR')) moveAside(path);
      else throw error;
    }
  }
  throw new OperationError(`${path} does not stay a folder: something keeps replacing it`);
}

function make(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
}
