import {
  linkSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { hasCode, OperationError } from '../../lib/errors.ts';

/** Something keeps putting things there, or the directory holds that many moved ones. */
const MAX_TRIES = 1_000;

/**
 * Makes `path` a link to `target`, whatever stands there: a right link stays, a wrong one is replaced, and a file or
 * folder is moved to `<path>.shared` (`.shared-2`, … if taken), never deleted, never over another, and never copied
 * into a domain (S3). Any number of processes may do so at once: each step either does its one thing or nothing.
 *
 * @returns where what stood there went, if anything was moved.
 */
export function placeLink(path: string, target: string): string | undefined {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  let moved: string | undefined;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    if (attempt(() => symlinkSync(target, path), 'EEXIST')) return moved;
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) continue;
    if (stat.isSymbolicLink()) {
      if (linkTarget(path) === target) return moved;
      attempt(() => unlinkSync(path), 'ENOENT', 'EISDIR', 'EPERM');
    } else if (!stat.isDirectory()) {
      moved = moveFileAside(path) ?? moved;
    } else if (!attempt(() => rmdirSync(path), 'ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR')) {
      moved = moveFolderAside(path) ?? moved;
    }
  }
  throw new OperationError(`no link can be placed at ${path}: something keeps putting other things there`);
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'EINVAL')) return undefined;
    throw error;
  }
}

/** Moves a file away; false for a link, which is nothing to be kept. */
export function moveAside(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined || stat.isSymbolicLink()) return false;
  moveFileAside(path);
  return true;
}

/** A second name for the file is refused where one exists, which a rename would not be. */
function moveFileAside(path: string): string | undefined {
  const aside = firstFree(path, (name) => attempt(() => linkSync(path, name), 'EEXIST'));
  if (lstatSync(aside, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
    // Another process has placed the link in between, and it is the link that got a second name.
    unlinkSync(aside);
    return undefined;
  }
  attempt(() => unlinkSync(path), 'ENOENT');
  return aside;
}

/** A folder can be renamed over an empty one only, so that the name is reserved first. */
function moveFolderAside(path: string): string | undefined {
  const aside = firstFree(path, (name) => attempt(() => mkdirSync(name, { mode: 0o700 }), 'EEXIST'));
  if (attempt(() => renameSync(path, aside), 'ENOENT', 'ENOTDIR', 'EISDIR', 'ENOTEMPTY', 'EEXIST'))
    return aside;
  attempt(() => rmdirSync(aside), 'ENOTEMPTY', 'ENOENT');
  return undefined;
}

function firstFree(path: string, take: (name: string) => boolean): string {
  for (let n = 1; n <= MAX_TRIES; n++) {
    const name = n === 1 ? `${path}.shared` : `${path}.shared-${n}`;
    if (take(name)) return name;
  }
  throw new OperationError(`there are already ${MAX_TRIES} folders that were moved away from ${path}`);
}

/** False when it failed in a way that says that somebody else was here. */
function attempt(work: () => void, ...expected: string[]): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (hasCode(error, ...expected)) return false;
    throw error;
  }
}
