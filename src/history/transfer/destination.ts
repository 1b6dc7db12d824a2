/**
 * A sessions directory as the place that Sessions of somewhere else come to, never over another's. Sandboxes write there
 * too (rule 8).
 */
import { closeSync, fchownSync, fstatSync } from 'node:fs';
import {
  entriesOf,
  linkChild,
  removeEmptyChild,
  renameChild,
  statChild,
  unlinkChild,
} from '../../lib/directory-entries.ts';
import {
  type DirectoryHandle,
  makeChildDirectory,
  openChildDirectory,
  openChildFile,
} from '../../lib/directory-handle.ts';
import { hasCode, OperationError } from '../../lib/errors.ts';
import { compareBytes } from './compare.ts';

const SESSION_END = '.jsonl';

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** So many other Sessions may have the name and its changed forms. */
const MAX_NAMES = 100;
/** What a name may have in bytes, with room for what is added to it. */
const MAX_STEM_BYTES = 230;

export interface Destination {
  readonly directory: DirectoryHandle;
  /** Here copies wait until they are whole: on the same file system, and nobody else's to write. */
  readonly stage: DirectoryHandle;
  /** Of the directory, and so of what comes into it. */
  readonly owner: Owner;
  /** Removes the stage with all that is left in it, and lets go. */
  close(): void;
}

/**
 * A sessions directory with a stage in it. Both are the destination's from now on.
 *
 * @param released called when the stage is gone
 */
export function destinationWith(
  directory: DirectoryHandle,
  { name, stage, released }: { name: string; stage: DirectoryHandle; released?: () => void },
): Destination {
  const { uid, gid } = fstatSync(directory.fd);
  return {
    directory,
    stage,
    owner: { uid, gid },
    close() {
      stage.close();
      removeStage(directory, name);
      released?.();
      directory.close();
    },
  };
}

/** Removes a stage with all that is left in it, as far as it can be. */
export function removeStage(directory: DirectoryHandle, name: string): void {
  let stage: DirectoryHandle;
  try {
    stage = openChildDirectory(directory, name);
  } catch (error) {
    if (error instanceof OperationError) return;
    throw error;
  }
  try {
    for (const entry of entriesOf(stage)) if (!entry.isDirectory()) unlinkChild(stage, entry.name);
  } finally {
    stage.close();
  }
  removeEmptyChild(directory, name);
}

/** The folder of that name, made as the owner's where it is missing. */
export function folderIn({ directory, owner }: Destination, name: string): DirectoryHandle {
  const folder = makeChildDirectory(directory, name);
  const stats = fstatSync(folder.fd);
  // As it was just made, now or by a run that was killed then.
  if (stats.uid === process.geteuid?.() && stats.uid !== owner.uid)
    fchownSync(folder.fd, owner.uid, owner.gid);
  return folder;
}

/** Where a Session goes, or that it is there already: `existing` is open for reading then. */
export interface Placing {
  readonly name: string;
  readonly existing: number | undefined;
}

/**
 * The name that a Session can have in the folder: its own, or where that is another Session's a changed one, which says
 * by `word` where it comes from. One that has the same bytes, or goes on after them, is the same Session.
 *
 * @throws OperationError when every name is taken
 */
export function placingFor(folder: DirectoryHandle, name: string, source: number, word: string): Placing {
  for (let number = 0; number < MAX_NAMES; number++) {
    const candidate = changedName(name, number, word);
    const stats = statChild(folder, candidate);
    if (stats === undefined) return { name: candidate, existing: undefined };
    if (!stats.isFile()) continue;
    const existing = openIfSame(folder, candidate, source);
    if (existing !== undefined) return { name: candidate, existing };
  }
  throw new OperationError(`${MAX_NAMES} files there have its name`);
}

function openIfSame(folder: DirectoryHandle, name: string, source: number): number | undefined {
  let fd: number;
  try {
    ({ fd } = openChildFile(folder, name));
  } catch (error) {
    if (error instanceof OperationError) return undefined;
    throw error;
  }
  if (compareBytes(source, fd) !== 'different') return fd;
  closeSync(fd);
  return undefined;
}

function changedName(name: string, number: number, word: string): string {
  if (number === 0) return name;
  let stem = name.slice(0, -SESSION_END.length);
  while (Buffer.byteLength(stem) > MAX_STEM_BYTES) stem = stem.slice(0, -1);
  return `${stem}-${word}${number === 1 ? '' : `-${number}`}${SESSION_END}`;
}

/**
 * Gives a whole copy its name; never replaces anything.
 *
 * @throws FileError (`code` EEXIST when the name was taken meanwhile)
 */
export function place(stage: DirectoryHandle, copy: string, folder: DirectoryHandle, name: string): void {
  try {
    linkChild(stage, copy, folder, name);
  } catch (error) {
    // No second names on that file system.
    if (!hasCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK')) throw error;
    if (statChild(folder, name) !== undefined)
      throw Object.assign(new OperationError(`${name} exists`), { code: 'EEXIST' });
    renameChild(stage, copy, folder, name);
    return;
  }
  unlinkChild(stage, copy);
}
