/**
 * Where all history lay before domains had their own: `.pi/agent/sessions` of the shared volume, which every sandbox can
 * write to. Three things are to hold against a sandbox of another domain (rules 4, 8):
 *
 * - nobody reads in it: the directory belongs to a user that no sandbox runs as, and so does every folder in it;
 * - nobody adds to it: what a sandbox puts there would be continued by another domain as its own history. So what is
 *   taken over is only the directory that was there when the volume was first prepared, and its owner is the proof;
 * - nobody takes it away: a sandbox can rename the folders above it. Then it is searched for.
 */
import { fchmodSync, fchownSync, fstatSync } from 'node:fs';
import { OLD_SESSIONS_PLACE } from '../../agent-dir/index.ts';
import { entriesOf, statChild } from '../../lib/directory-entries.ts';
import {
  type DirectoryHandle,
  MountPointError,
  makeChildDirectory,
  openChildDirectory,
  openDirectory,
} from '../../lib/directory-handle.ts';
import { hasCode, LimitError, OperationError } from '../../lib/errors.ts';
import type { Owner } from '../transfer/destination.ts';

/** A user that no sandbox runs as, and that engines without root can map. */
export const LEGACY_SEAL: Owner = { uid: 65_533, gid: 65_533 };

/** Bounds of the search for a directory that was renamed; past them nothing is believed (rule 7). */
const SEARCH = { depth: 200, directories: 500_000 };

export interface LegacyStore {
  /** Undefined when there is none that can be believed. */
  readonly directory: DirectoryHandle | undefined;
  /** For people: what stands at the usual place and is not taken over, or where the history was found instead. */
  readonly problem: string | undefined;
}

/**
 * Finds the old history and puts it out of every sandbox's reach; makes an empty directory for it where there is none,
 * so that whatever appears there later is known to be no old history. The caller closes `directory`.
 *
 * @throws FileError when it cannot be put out of reach
 */
export function openStore(sharedRoot: string, seal: Owner): LegacyStore {
  const root = openDirectory(sharedRoot);
  try {
    const there = openPlace(root);
    if (there !== undefined && hasOwner(there, seal)) return { directory: there, problem: undefined };
    return elsewhere(root, there, seal) ?? first(root, there, seal);
  } finally {
    root.close();
  }
}

/** The volume has not been prepared before: what is there now is the old history, and nothing that comes later. */
function first(root: DirectoryHandle, there: DirectoryHandle | undefined, seal: Owner): LegacyStore {
  let place = there;
  try {
    place ??= makePlace(root);
  } catch (error) {
    // A sandbox can put anything there, and must not keep another domain from starting.
    if (!hasCode(error, 'ENOTDIR', 'ELOOP', 'EEXIST') && !(error instanceof MountPointError)) throw error;
    return { directory: undefined, problem: `there is no old history: ${error.message}` };
  }
  return { directory: sealed(place, seal), problem: undefined };
}

/** The directory of `seal` at another place; undefined when there is none, so that what is at the usual one counts. */
function elsewhere(
  root: DirectoryHandle,
  there: DirectoryHandle | undefined,
  seal: Owner,
): LegacyStore | undefined {
  let problem: string;
  let found: DirectoryHandle | undefined;
  try {
    found = search(root, seal, there);
    if (found === undefined) return undefined;
    // Another start may have put it out of reach, or made it, since we looked: then it is where it belongs.
    const now = openPlace(root);
    if (now !== undefined && hasOwner(now, seal)) {
      found.close();
      there?.close();
      return { directory: now, problem: undefined };
    }
    now?.close();
    problem = `the old history was moved from its place by something in a sandbox; it is now ${found.path}`;
  } catch (error) {
    if (!(error instanceof LimitError)) throw error;
    if (there === undefined) return { directory: undefined, problem: undefined };
    problem = `${there.path} is not taken over as old history, since it cannot be told whether it is: ${error.message}`;
  }
  // Out of reach as well, and by another group, so that it never passes for the real one.
  if (there !== undefined) sealed(there, { uid: seal.uid, gid: seal.gid - 1 }).close();
  return { directory: found, problem };
}

function openPlace(root: DirectoryHandle): DirectoryHandle | undefined {
  let directory = root;
  for (const name of OLD_SESSIONS_PLACE) {
    let next: DirectoryHandle;
    try {
      next = openChildDirectory(directory, name);
    } catch (error) {
      if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP') || error instanceof MountPointError) return undefined;
      throw error;
    } finally {
      if (directory !== root) directory.close();
    }
    directory = next;
  }
  return directory;
}

/** The folders above it belong to whoever the volume belongs to, as those that a start makes. */
function makePlace(root: DirectoryHandle): DirectoryHandle {
  const { uid, gid } = fstatSync(root.fd);
  let directory = root;
  for (const name of OLD_SESSIONS_PLACE) {
    const missing = statChild(directory, name) === undefined;
    const next = makeChildDirectory(directory, name);
    if (missing) fchownSync(next.fd, uid, gid);
    if (directory !== root) directory.close();
    directory = next;
  }
  return directory;
}

/** Gives a directory that was opened to `seal` alone. */
export function sealed(directory: DirectoryHandle, seal: Owner): DirectoryHandle {
  if (!hasOwner(directory, seal)) fchownSync(directory.fd, seal.uid, seal.gid);
  if ((fstatSync(directory.fd).mode & 0o7777) !== 0o700) fchmodSync(directory.fd, 0o700);
  return directory;
}

function hasOwner(directory: DirectoryHandle, { uid, gid }: Owner): boolean {
  const owner = fstatSync(directory.fd);
  return owner.uid === uid && owner.gid === gid;
}

/**
 * A directory of `seal`, wherever it is below `root` and not in `except`, whose own folders another start may be sealing
 * at this moment. Only the first preparation of a volume and one that something was
 * moved in come here.
 *
 * @throws LimitError when not everything was seen
 */
function search(
  root: DirectoryHandle,
  seal: Owner,
  except: DirectoryHandle | undefined,
): DirectoryHandle | undefined {
  return searchBelow(root, 0, { seal, except, directories: SEARCH.directories });
}

interface Search {
  readonly seal: Owner;
  readonly except: DirectoryHandle | undefined;
  /** How many more may be looked at. */
  directories: number;
}

function searchBelow(parent: DirectoryHandle, depth: number, search: Search): DirectoryHandle | undefined {
  if (depth > SEARCH.depth) throw new LimitError(`a folder in it is deeper than ${SEARCH.depth} levels`);
  for (const entry of entriesOf(parent)) {
    if (!entry.isDirectory()) continue;
    if (search.directories-- <= 0) throw new LimitError(`there are more than ${SEARCH.directories} folders`);
    const child = openIfThere(parent, entry.name);
    if (child === undefined) continue;
    const { except } = search;
    const isExcepted = child.inode === except?.inode && child.device === except.device;
    if (!isExcepted && hasOwner(child, search.seal)) return child;
    try {
      const found = isExcepted ? undefined : searchBelow(child, depth + 1, search);
      if (found !== undefined) return found;
    } finally {
      child.close();
    }
  }
  return undefined;
}

function openIfThere(parent: DirectoryHandle, name: string): DirectoryHandle | undefined {
  try {
    return openChildDirectory(parent, name);
  } catch (error) {
    if (error instanceof OperationError) return undefined;
    throw error;
  }
}
