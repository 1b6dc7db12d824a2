/** Moving Sessions into the trash: announced, verified again at the last moment, and taken back when they were used. */
import { closeSync, constants, realpathSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import {
  linkChild,
  removeEmptyChild,
  renameChild,
  statChild,
  unlinkChild,
} from '../lib/directory-entries.ts';
import { type DirectoryHandle, openChildFile } from '../lib/directory-handle.ts';
import { hasCode, OperationError } from '../lib/errors.ts';
import { FileError } from '../lib/file-error.ts';
import { isSessionOpen, MOST_COPIES, type SessionId, TRASH_DIRECTORY, trashedName } from '../pi/index.ts';
import type { Announced } from './deletion-log.ts';
import { type Folders, inFolder } from './folders.ts';
import { originalPlace, type Place, placePath } from './layout.ts';
import type { History, SessionFacts } from './types.ts';

/** A file as it was looked at. It is touched only while it is still that very file. */
export interface Candidate extends Omit<SessionFacts, 'id'> {
  readonly id: SessionId | undefined;
  readonly place: Place;
  readonly stats: Stats;
}

/** It was used or replaced since it was looked at, and stays. */
export class ChangedMeanwhileError extends OperationError {
  constructor({ file }: Pick<SessionFacts, 'file'>) {
    super(`${file} changed meanwhile`);
  }
}

/** So many are announced and then moved together: one wait for the disk each. */
export const BATCH = 256;

/**
 * True when some pi holds the lock of this Session, by its id (if it has one) or its place; also when something stands
 * where the lock belongs that can't be probed.
 */
export function isOpen(history: History, { id, place }: { id: string | undefined; place: Place }): boolean {
  const original = place.day === undefined ? place : originalPlace(place);
  const file = join(history.mountedAt ?? realRoot(history), placePath(original ?? place));
  try {
    return isSessionOpen(history.locks, { id: id ?? '', file }, { isReal: true });
  } catch (error) {
    if (error instanceof FileError) return true;
    throw error;
  }
}

const realRoots = new WeakMap<History, string>();

function realRoot(history: History): string {
  const known = realRoots.get(history) ?? realpathSync(history.sessions);
  realRoots.set(history, known);
  return known;
}

export function isUnchanged(candidate: Candidate, stats: Stats | undefined): boolean {
  const { ino, mtimeMs, size } = candidate.stats;
  return stats?.isFile() === true && stats.ino === ino && stats.mtimeMs === mtimeMs && stats.size === size;
}

/**
 * A place in the trash that no file has. Only called under the history's lock, and again right before the move.
 * The newest copy of a day has the highest number, which is how the one to bring back is found.
 */
export function freePlaceInTrash(
  folders: Folders,
  day: string,
  { folder, name }: Place,
  taken: ReadonlySet<string> = new Set(),
): Place {
  const place = { day, folder, name };
  const directory = folders.made(place);
  let last = 0;
  for (let copy = 1; copy <= Math.min(last + 3, MOST_COPIES); copy++) {
    const trashed = trashedName(name, copy);
    if (taken.has(placePath({ day, folder, name: trashed })) || statChild(directory, trashed)) last = copy;
  }
  if (last >= MOST_COPIES) throw new OperationError(`too many copies of ${placePath(place)} in the trash`);
  return { day, folder, name: trashedName(name, last + 1) };
}

/**
 * Moves one Session into the trash. A Session that some pi has open may be moved as well: that pi brings it back
 * before it writes (S11).
 *
 * @throws OperationError when it changed since it was looked at: then it is where it was, or both are kept
 */
export function moveToTrash(
  folders: Folders,
  candidate: Candidate,
  to: Place,
  between: (step: string) => void = () => undefined,
): void {
  const { name } = candidate.place;
  const from = folders.of(candidate.place);
  const trash = folders.made(to);
  if (!isUnchanged(candidate, statChild(from, name))) throw new ChangedMeanwhileError(candidate);
  if (statChild(trash, to.name)) throw new OperationError(`${placePath(to)} exists`);
  between('before the move');
  renameChild(from, name, trash, to.name);
  between('after the move');
  const moved = statChild(trash, to.name);
  if (isUnchanged(candidate, moved)) return;
  // Somebody wrote in the very moment before: it is no longer expired.
  if (moved?.ino === candidate.stats.ino) moveWithoutReplacing(trash, to.name, from, name);
  throw new ChangedMeanwhileError(candidate);
}

/**
 * Never replaces a file: FileError with the code EEXIST, and the file stays where it is. A move that was killed in its
 * middle has left both names to one file: it is finished.
 */
export function moveWithoutReplacing(
  from: DirectoryHandle,
  name: string,
  to: DirectoryHandle,
  newName: string,
): void {
  try {
    linkChild(from, name, to, newName);
  } catch (error) {
    if (hasCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK')) {
      moveToReservedName(from, name, to, newName);
      return;
    }
    if (!hasCode(error, 'EEXIST') || !isSameFile(statChild(from, name), statChild(to, newName))) throw error;
  }
  unlinkChild(from, name);
}

export function isSameFile(one: Stats | undefined, other: Stats | undefined): boolean {
  return one?.isFile() === true && one.ino === other?.ino && one.dev === other.dev;
}

/** Where there are no hard links: an empty file of ours keeps the name until the rename replaces that very file. */
function moveToReservedName(from: DirectoryHandle, name: string, to: DirectoryHandle, newName: string): void {
  const { fd, stats } = openChildFile(to, newName, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL);
  closeSync(fd);
  const there = statChild(to, newName);
  if (there?.ino !== stats.ino || there.size !== 0)
    throw new OperationError(`${join(to.path, newName)} was made by somebody else meanwhile`);
  renameChild(from, name, to, newName);
}

/** Deletes one file, unless it is another one by now. */
export function deleteFile(
  folders: Folders,
  candidate: Candidate,
  between: (step: string) => void = () => undefined,
): void {
  const { name } = candidate.place;
  const folder = folders.of(candidate.place);
  if (!isUnchanged(candidate, statChild(folder, name))) throw new ChangedMeanwhileError(candidate);
  between('before the deletion');
  unlinkChild(folder, name);
}

/** Removes the folder of a place if it is empty, and in the trash the day's as well. */
export function removeEmptyFolders(root: DirectoryHandle, places: Iterable<Omit<Place, 'name'>>): void {
  const seen = new Set<string>();
  for (const { day, folder } of places) {
    if (day === undefined && folder === undefined) continue;
    const key = `${day}/${folder}`;
    if (seen.has(key)) continue;
    seen.add(key);
    try {
      if (folder !== undefined)
        inFolder(root, { day, folder: undefined }, (parent) => removeEmptyChild(parent, folder));
      if (day !== undefined)
        inFolder(root, { day: undefined, folder: TRASH_DIRECTORY }, (trash) => removeEmptyChild(trash, day));
    } catch (error) {
      // Somebody was faster, or may not; an empty folder is no loss.
      if (!hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM', 'EROFS')) throw error;
    }
  }
}

export function announcement(
  { file, id, bytes, lastChange }: Candidate,
  facts: Pick<Announced, 'action' | 'why'> & { days?: number; to?: string },
): Announced {
  return { ...facts, file, bytes, lastChange: lastChange.toISOString(), ...(id === undefined ? {} : { id }) };
}
