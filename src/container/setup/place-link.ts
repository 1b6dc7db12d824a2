import { linkSync, lstatSync, mkdirSync, readlinkSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { hasCode, OperationError } from '../../lib/errors.ts';
import { randomId } from '../../lib/ids.ts';

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
    } else {
      // An empty folder too: it may be somebody's mark, and its owner and mode are theirs.
      moved = moveAside(path) ?? moved;
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

/**
 * Moves a file or folder away. In two steps: to a name of this process's own, which of several processes one alone
 * can do, and from there to the first free name, which a plain rename would not respect.
 *
 * @returns where it went; undefined when there was nothing but a link, which is nothing to keep
 */
export function moveAside(path: string): string | undefined {
  const taken = `${path}.shared-${randomId(8)}`;
  if (!attempt(() => renameSync(path, taken), 'ENOENT')) return undefined;
  const stat = lstatSync(taken);
  if (stat.isSymbolicLink()) {
    unlinkSync(taken);
    return undefined;
  }
  if (stat.isDirectory()) {
    // A folder can be renamed over an empty one, so the name is reserved by that.
    const aside = firstFree(path, (name) => attempt(() => mkdirSync(name, { mode: 0o700 }), 'EEXIST'));
    renameSync(taken, aside);
    return aside;
  }
  const aside = firstFree(path, (name) => attempt(() => linkSync(taken, name), 'EEXIST'));
  unlinkSync(taken);
  return aside;
}

/**
 * Removes a link and nothing else, whatever comes in its place meanwhile: every sandbox that sees it does this at the
 * same moment, and the first one's pi may already have written the file that belongs there.
 */
export function removeLink(path: string): boolean {
  const taken = `${path}.link-${randomId(8)}`;
  try {
    renameSync(path, taken);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
  if (lstatSync(taken).isSymbolicLink()) {
    unlinkSync(taken);
    return true;
  }
  try {
    linkSync(taken, path);
    unlinkSync(taken);
  } catch (error) {
    // A folder has no second name; and where somebody was faster, both stay.
    if (hasCode(error, 'EPERM')) renameSync(taken, path);
    else if (!hasCode(error, 'EEXIST')) throw error;
  }
  return false;
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
