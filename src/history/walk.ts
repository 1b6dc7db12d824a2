/** Everything in a sessions directory, one after the other; see README.md for what counts as a Session. */
import type { Dirent, Stats } from 'node:fs';
import {
  type DirectoryHandle,
  entriesOf,
  MountPointError,
  openChildDirectory,
  statChild,
} from '../lib/directory-handle.ts';
import { hasCode, messageOf } from '../lib/errors.ts';
import { nameBeforeTrash, TRASH_DIRECTORY } from '../pi/index.ts';
import { hasSessionName, isDay, OWN_DIRECTORY, type Place, placePath } from './layout.ts';
import type { HistoryProblem } from './types.ts';

export type Found =
  | { readonly kind: 'file'; readonly at: DirectoryHandle; readonly place: Place; readonly stats: Stats }
  /** After the last file of a folder. `empty`: it had no entry at all. */
  | {
      readonly kind: 'folder';
      readonly place: Place;
      readonly empty: boolean;
      readonly handle: DirectoryHandle;
    }
  | { readonly kind: 'problem'; readonly problem: HistoryProblem };

/** Regular files named like Sessions in `root` and in its folders; `at` is open until the next is asked for. */
export function* walkSessions(root: DirectoryHandle): Generator<Found, void, undefined> {
  for (const entry of entriesOf(root)) {
    const { name } = entry;
    const place: Place = { day: undefined, folder: undefined, name };
    if (entry.isDirectory()) {
      if (name === TRASH_DIRECTORY || name === OWN_DIRECTORY) continue;
      if (hasSessionName(name)) yield problem(place, 'special', 'a directory named like a Session');
      else yield* walkFolder(root, place, hasSessionName);
    } else yield* file(root, place, entry, hasSessionName);
  }
}

/** Files of the trash, day by day as the disk has them; `onDay` false leaves a day out. */
export function* walkTrash(
  root: DirectoryHandle,
  onDay: (day: string) => boolean = () => true,
): Generator<Found, void, undefined> {
  const trash = openFolder(root, { day: undefined, folder: undefined, name: TRASH_DIRECTORY });
  if (trash === undefined) return;
  if ('problem' in trash) return yield trash;
  try {
    for (const { name } of entriesOf(trash)) {
      if (!isDay(name))
        yield problem({ day: name, folder: undefined, name: '' }, 'foreign', 'not a day of the trash');
      else if (onDay(name)) yield* walkDay(trash, name);
    }
  } finally {
    trash.close();
  }
}

function* walkDay(trash: DirectoryHandle, day: string): Generator<Found, void, undefined> {
  const handle = openFolder(trash, { day: undefined, folder: undefined, name: day });
  if (handle === undefined) return;
  if ('problem' in handle) return yield handle;
  try {
    let empty = true;
    for (const entry of entriesOf(handle)) {
      empty = false;
      const place: Place = { day, folder: undefined, name: entry.name };
      if (entry.isDirectory()) yield* walkFolder(handle, place, isTrashedName);
      else yield* file(handle, place, entry, isTrashedName);
    }
    yield { kind: 'folder', place: { day, folder: undefined, name: '' }, empty, handle };
  } finally {
    handle.close();
  }
}

function isTrashedName(name: string): boolean {
  return nameBeforeTrash(name) !== undefined;
}

/** `place.name` is the folder's. */
function* walkFolder(
  parent: DirectoryHandle,
  place: Place,
  isWanted: (name: string) => boolean,
): Generator<Found, void, undefined> {
  const handle = openFolder(parent, place);
  if (handle === undefined) return;
  if ('problem' in handle) return yield handle;
  try {
    let empty = true;
    for (const entry of entriesOf(handle)) {
      empty = false;
      const child: Place = { day: place.day, folder: place.name, name: entry.name };
      if (entry.isDirectory()) {
        yield isWanted(entry.name)
          ? problem(child, 'special', 'a directory named like a Session')
          : problem(child, 'foreign', 'a folder in a folder');
      } else yield* file(handle, child, entry, isWanted);
    }
    yield { kind: 'folder', place, empty, handle };
  } catch (error) {
    if (!hasCode(error, 'EACCES', 'EPERM', 'EIO')) throw error;
    yield problem(place, 'unreadable', messageOf(error));
  } finally {
    handle.close();
  }
}

function* file(
  at: DirectoryHandle,
  place: Place,
  entry: Dirent,
  isWanted: (name: string) => boolean,
): Generator<Found, void, undefined> {
  if (entry.isSymbolicLink())
    return yield problem(place, 'link', 'a link; what it leads to is never touched');
  if (!isWanted(place.name)) return yield problem(place, 'foreign', 'not named like a Session');
  let stats: Stats | undefined;
  try {
    stats = statChild(at, place.name);
  } catch (error) {
    return yield problem(place, 'unreadable', messageOf(error));
  }
  if (stats === undefined) {
    // A name that is no UTF-8 reads as another one; otherwise it was removed meanwhile.
    if (place.name.includes('\ufffd')) yield problem(place, 'unreadable', 'its name is not valid UTF-8');
  } else if (stats.isSymbolicLink())
    yield problem(place, 'link', 'a link; what it leads to is never touched');
  else if (!stats.isFile()) yield problem(place, 'special', 'no regular file');
  else if (stats.dev !== at.device) yield problem(place, 'mount', 'a file that is mounted there');
  else yield { kind: 'file', at, place, stats };
}

type Problem = Extract<Found, { kind: 'problem' }>;

export function problem(place: Place, kind: HistoryProblem['kind'], reason: string): Problem {
  return { kind: 'problem', problem: { file: placePath(place), kind, reason } };
}

/** Undefined when it is gone, or was replaced by a file or link since the directory was read. */
function openFolder(parent: DirectoryHandle, place: Place): DirectoryHandle | Problem | undefined {
  try {
    return openChildDirectory(parent, place.name);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    if (hasCode(error, 'ENOTDIR', 'ELOOP')) return problem(place, 'link', 'no directory, or a link to one');
    if (error instanceof MountPointError)
      return problem(place, 'mount', 'another file system is mounted there');
    return problem(place, 'unreadable', messageOf(error));
  }
}
