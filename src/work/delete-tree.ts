/**
 * Deleting what lies in a directory of ours that is no run any more (W6): through open directories, so no link is
 * followed; never into another file system; of a file only this one name, so that another hard link keeps it. Whatever
 * depth a tree has, a bounded number of directories is open.
 */
import { type Dirent, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import {
  entriesOf,
  removeEmptyChild,
  renameChild,
  statChild,
  unlinkChild,
} from '../lib/directory-entries.ts';
import { type DirectoryHandle, openChildDirectory } from '../lib/directory-handle.ts';
import { hasCode, messageOf, PiSandboxError } from '../lib/errors.ts';
import { randomId } from '../lib/ids.ts';
import { grantOwner, grantOwnerOfChild, isUndecodable, renameUndecodable } from '../lib/stubborn-entries.ts';

/** Directories that are open at a time; a deeper one is moved up first. */
const MOST_OPEN = 48;
/** So often a walk comes back, for its caller to let others work. */
const PAUSE_EVERY = 256;
/** While others still write into it, something may appear behind us; this often it is looked at again. */
const MOST_PASSES = 4;
/** Passes that each brought {@link MOST_OPEN} further levels up. */
const MOST_DEEP_PASSES = 4_096;

export interface Deletion {
  /** Disk that the files took, where it was measured. */
  bytes: number;
  entries: number;
  /** The first thing that could not be removed, and why. */
  obstacle: { path: string; reason: string } | undefined;
}

interface Walk extends Deletion {
  readonly top: DirectoryHandle;
  readonly measure: boolean;
  /** Directories were moved up into the top in this pass. */
  broughtUp: boolean;
}

type Walking = Generator<undefined, boolean, undefined>;

/**
 * Deletes the content of a directory, but for one name in it. Comes back now and then; what it gives in the end counts
 * what went, and says what did not.
 *
 * @param empty a directory in it that mostly holds nothing
 * @param measure count bytes too, which costs a look at each file
 */
export function* deleteContent(
  top: DirectoryHandle,
  { keep, empty, measure }: { keep: string; empty?: string; measure: boolean },
): Generator<undefined, Deletion, undefined> {
  const walk: Walk = { top, measure, broughtUp: false, bytes: 0, entries: 0, obstacle: undefined };
  if (empty !== undefined) attempt(walk, top, empty, () => removeEmptyChild(top, empty));
  for (let pass = 1, deep = 1; ; ) {
    walk.broughtUp = false;
    walk.obstacle = undefined;
    const left = yield* deleteEntries(walk, top, 1, keep);
    if (!left) return walk;
    if (walk.broughtUp && ++deep <= MOST_DEEP_PASSES) continue;
    if (!walk.broughtUp && walk.obstacle === undefined && ++pass <= MOST_PASSES) continue;
    walk.obstacle ??= { path: top.path, reason: 'something is still being written into it' };
    return walk;
  }
}

/** True when something is left, or has come up from below. */
function* deleteEntries(walk: Walk, directory: DirectoryHandle, depth: number, keep?: string): Walking {
  for (let pass = 1; ; pass++) {
    let left = false;
    let undecodable = false;
    for (const entry of listed(walk, directory)) {
      const { name } = entry;
      if (name === keep) continue;
      if (++walk.entries % PAUSE_EVERY === 0) yield undefined;
      if (isUndecodable(name) && isMissing(walk, directory, name)) undecodable = true;
      else if (entry.isDirectory()) left = (yield* deleteDirectory(walk, directory, name, depth)) || left;
      else
        left = attempt(walk, directory, name, () => deleteFile(walk, directory, name)) === 'refused' || left;
    }
    if (!undecodable) return left;
    const renamed = attempt(walk, directory, '', () => {
      renameUndecodable(directory, () => `undecodable-${randomId()}`);
    });
    if (renamed === 'refused' || pass === MOST_PASSES) return true;
  }
}

/**
 * The entries of a directory. One that can be read but not searched gets its rights first; what the system still refuses
 * to list stays as the obstacle, and with it the directory.
 */
function* listed(walk: Walk, directory: DirectoryHandle): Generator<Dirent, void, undefined> {
  try {
    yield* entriesOf(directory);
    return;
  } catch (error) {
    if (!hasCode(error, 'EACCES')) {
      refuse(walk, directory.path, error);
      return;
    }
  }
  try {
    grantOwner(directory);
    yield* entriesOf(directory);
  } catch (error) {
    refuse(walk, directory.path, error);
  }
}

function isMissing(walk: Walk, directory: DirectoryHandle, name: string): boolean {
  const seen = attempt(walk, directory, name, () => statChild(directory, name));
  return typeof seen === 'object' && seen.value === undefined;
}

function* deleteDirectory(walk: Walk, parent: DirectoryHandle, name: string, depth: number): Walking {
  if (depth >= MOST_OPEN) {
    // A further pass meets it at the top, at depth one.
    attempt(walk, parent, name, () => moveUp(parent, name, walk.top));
    walk.broughtUp = true;
    return true;
  }
  const opened = attempt(walk, parent, name, () => openWithRights(parent, name));
  if (typeof opened === 'string') return opened === 'refused';
  const directory = opened.value;
  try {
    if (yield* deleteEntries(walk, directory, depth + 1)) return true;
  } finally {
    directory.close();
  }
  const removed = attempt(walk, parent, name, () => removeEmptyChild(parent, name));
  return typeof removed === 'string' ? removed === 'refused' : !removed.value;
}

/** A directory gets another parent only from who may write into it, and into both parents. */
function moveUp(parent: DirectoryHandle, name: string, top: DirectoryHandle): void {
  const newName = `deep-${randomId()}`;
  try {
    renameChild(parent, name, top, newName);
  } catch (error) {
    if (!hasCode(error, 'EACCES')) throw error;
    grantOwner(top);
    grantOwnerOfChild(parent, name);
    renameChild(parent, name, top, newName);
  }
}

/** Does one thing that may be refused, and remembers the first that was. */
function attempt<T>(
  walk: Walk,
  directory: DirectoryHandle,
  name: string,
  act: () => T,
): { value: T } | 'gone' | 'refused' {
  try {
    return { value: withRights(directory, act) };
  } catch (error) {
    return refuse(walk, join(directory.path, name), error);
  }
}

function refuse(walk: Walk, path: string, error: unknown): 'gone' | 'refused' {
  if (!(error instanceof PiSandboxError)) throw error;
  if (hasCode(error, 'ENOENT')) return 'gone';
  // A directory that became a link or a file since it was listed: the next pass sees it as what it is.
  if (!hasCode(error, 'ENOTDIR', 'ELOOP')) walk.obstacle ??= { path, reason: messageOf(error) };
  return 'refused';
}

function withRights<T>(directory: DirectoryHandle, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (!hasCode(error, 'EACCES')) throw error;
    grantOwner(directory);
    return act();
  }
}

function openWithRights(parent: DirectoryHandle, name: string): DirectoryHandle {
  try {
    return openChildDirectory(parent, name, { bindMounts: false });
  } catch (error) {
    if (!hasCode(error, 'EACCES')) throw error;
    grantOwnerOfChild(parent, name);
    return openChildDirectory(parent, name, { bindMounts: false });
  }
}

/** True when it is gone. */
function deleteFile(walk: Walk, parent: DirectoryHandle, name: string): boolean {
  if (walk.measure) walk.bytes += bytesOf(parent, name);
  try {
    // Mostly this is all; only what is refused is worth the closures of an attempt.
    unlinkSync(parent.at(name));
    return true;
  } catch {
    return attempt(walk, parent, name, () => unlinkChild(parent, name)) !== 'refused';
  }
}

/** Nothing where the system does not say: the file goes all the same. */
function bytesOf(parent: DirectoryHandle, name: string): number {
  try {
    return diskBytes(statChild(parent, name));
  } catch (error) {
    if (error instanceof PiSandboxError) return 0;
    throw error;
  }
}

/** What a file takes on the disk, of which many small ones take more than their lengths say. */
export function diskBytes(stats: { blocks: number } | undefined): number {
  return (stats?.blocks ?? 0) * 512;
}
