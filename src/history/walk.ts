/** Everything in a sessions directory, one after the other; see README.md for what counts as a Session. */
import type { Dirent, Stats } from 'node:fs';
import { isAtomicTemporary } from '../lib/atomic-file.ts';
import { entriesOf, entryListsOf, statChild } from '../lib/directory-entries.ts';
import { type DirectoryHandle, MountPointError, openChildDirectory } from '../lib/directory-handle.ts';
import { hasCode, messageOf, PiSandboxError } from '../lib/errors.ts';
import { type AddressOf, inDirectory } from '../lib/in-directory.ts';
import { nameBeforeTrash, TRASH_DIRECTORY } from '../pi/index.ts';
import { hasSessionName, isDay, isOurs, type Place, placePath } from './layout.ts';
import type { HistoryProblem } from './types.ts';

/** A regular file, named like a Session. `at` is open until the next one is asked for. */
export interface FoundFile {
  readonly kind: 'file';
  readonly at: DirectoryHandle;
  readonly place: Place;
  readonly stats: Stats;
}

/** After the last file of a folder. `empty`: it had no entry at all. */
export interface FoundFolder {
  readonly kind: 'folder';
  /** Of what lies in it. */
  readonly day: string | undefined;
  readonly folder: string | undefined;
  readonly empty: boolean;
}

export type Found =
  | FoundFile
  | FoundFolder
  /** A temporary file of ours beside a Session: its writer was killed, or is at work. */
  | { readonly kind: 'temporary'; readonly at: DirectoryHandle; readonly place: Place; readonly stats: Stats }
  | { readonly kind: 'problem'; readonly problem: HistoryProblem }
  | { readonly kind: 'pause' };

type Walk = Generator<Found, void, undefined>;

export interface WalkOptions {
  /**
   * Looks at a file before anything is made of it; true when that was enough. Of 100,000 Sessions few are more than
   * counted, and an object for each costs as much as the look.
   */
  readonly isDone?: ((stats: Stats) => boolean) | undefined;
}

/** A walk that finds nothing comes back now and then, for its caller to let others work. */
const PAUSE: Found = { kind: 'pause' };

/** What is looked for in a directory, and where that directory is. */
interface Level {
  readonly day: string | undefined;
  readonly folder: string | undefined;
  readonly isWanted: (name: string) => boolean;
  readonly isDone: WalkOptions['isDone'];
}

/** Files named like Sessions in `root` and in its folders. */
export function walkSessions(root: DirectoryHandle, { isDone }: WalkOptions = {}): Walk {
  return walkTop(root, { day: undefined, folder: undefined, isWanted: hasSessionName, isDone });
}

/** Files of the trash, day by day as the disk has them; `onDay` false leaves a day out. */
export function* walkTrash(
  root: DirectoryHandle,
  { onDay = () => true, isDone }: WalkOptions & { onDay?: (day: string) => boolean } = {},
): Walk {
  const trash = openFolder(root, TRASH_DIRECTORY, TRASH_DIRECTORY);
  if (trash === undefined) return;
  if ('problem' in trash) return yield trash;
  try {
    for (const { name } of entriesOf(trash)) {
      const path = `${TRASH_DIRECTORY}/${name}`;
      if (!isDay(name)) yield problem(path, 'foreign', 'not a day of the trash');
      else if (onDay(name)) {
        const handle = openFolder(trash, name, path);
        if (handle === undefined) continue;
        if ('problem' in handle) yield handle;
        else yield* walkDay(handle, name, isDone);
      }
    }
  } finally {
    trash.close();
  }
}

function* walkDay(handle: DirectoryHandle, day: string, isDone: WalkOptions['isDone']): Walk {
  try {
    yield* walkTop(handle, { day, folder: undefined, isWanted: isTrashedName, isDone });
  } finally {
    handle.close();
  }
}

function isTrashedName(name: string): boolean {
  return nameBeforeTrash(name) !== undefined;
}

/** A sessions directory or a day of the trash: files, and folders of files. */
function* walkTop(at: DirectoryHandle, level: Level): Walk {
  let seen = 0;
  for (const entries of entryListsOf(at)) {
    if (seen > 0) yield PAUSE;
    seen += entries.length;
    const isPassedOver = (entry: Dirent): boolean =>
      level.day === undefined && isOurs(entry.name) && !(entry.isFile() && isAtomicTemporary(entry.name));
    yield* examineAll(at, level, entries, isPassedOver);
    for (const entry of entries) {
      const { name } = entry;
      if (!entry.isDirectory() || isPassedOver(entry)) continue;
      if (level.isWanted(name)) yield notAFile(level, name);
      else yield* walkFolder(at, { ...level, folder: name });
    }
  }
  if (level.day !== undefined) yield { kind: 'folder', day: level.day, folder: undefined, empty: seen === 0 };
}

function* walkFolder(parent: DirectoryHandle, level: Level & { folder: string }): Walk {
  const { day, folder, isWanted } = level;
  const path = placePath({ day, folder: undefined, name: folder });
  const at = openFolder(parent, folder, path);
  if (at === undefined) return;
  if ('problem' in at) return yield at;
  try {
    let seen = 0;
    for (const entries of entryListsOf(at)) {
      if (seen > 0) yield PAUSE;
      seen += entries.length;
      yield* examineAll(at, level, entries);
      for (const entry of entries) {
        if (!entry.isDirectory()) continue;
        const { name } = entry;
        if (isWanted(name)) yield notAFile(level, name);
        else yield problem(placePath({ day, folder, name }), 'foreign', 'a folder in a folder');
      }
    }
    yield { kind: 'folder', day, folder, empty: seen === 0 };
  } catch (error) {
    if (!(error instanceof PiSandboxError)) throw error;
    yield problem(path, 'unreadable', messageOf(error));
  } finally {
    at.close();
  }
}

/** What there is to be said of those that are no directories, in their order. */
function examineAll(
  at: DirectoryHandle,
  level: Level,
  entries: readonly Dirent[],
  isPassedOver: (entry: Dirent) => boolean = () => false,
): Found[] {
  const all: Found[] = [];
  inDirectory(at, (addressOf) => {
    for (const entry of entries) {
      if (entry.isDirectory() || isPassedOver(entry)) continue;
      const found = examine(at, level, entry, addressOf);
      if (found) all.push(found);
    }
  });
  return all;
}

/** Undefined for what was removed meanwhile. */
function examine(at: DirectoryHandle, level: Level, entry: Dirent, addressOf: AddressOf): Found | undefined {
  const { name } = entry;
  const wanted = level.isWanted(name);
  let stats: Stats | undefined;
  if (wanted) {
    try {
      stats = statChild(at, name, addressOf);
    } catch (error) {
      return problem(placePath({ ...level, name }), 'unreadable', messageOf(error));
    }
    if (stats?.isFile() && stats.dev === at.device && level.isDone?.(stats)) return undefined;
  }
  return describe(at, { day: level.day, folder: level.folder, name }, entry, wanted, stats);
}

function describe(
  at: DirectoryHandle,
  place: Place,
  entry: Dirent,
  wanted: boolean,
  looked: Stats | undefined,
): Found | undefined {
  const { name } = place;
  if (entry.isSymbolicLink()) return isLink(place);
  const temporary = isAtomicTemporary(name);
  if (!temporary && !wanted) return problem(placePath(place), 'foreign', 'not named like a Session');
  const stats = temporary ? statChild(at, name) : looked;
  if (stats === undefined) {
    return isMisread(name) ? problem(placePath(place), 'unreadable', MISREAD) : undefined;
  }
  if (stats.isFile() && stats.dev === at.device)
    return { kind: temporary ? 'temporary' : 'file', at, place, stats };
  if (stats.isSymbolicLink()) return isLink(place);
  if (!stats.isFile()) return problem(placePath(place), 'special', 'no regular file');
  return problem(placePath(place), 'mount', 'a file that is mounted there');
}

/** A name that is no UTF-8 reads as another one. */
function isMisread(name: string): boolean {
  return name.includes('\ufffd');
}

const MISREAD = 'its name is not valid UTF-8';

type Problem = Extract<Found, { kind: 'problem' }>;

function isLink(place: Place): Problem {
  return problem(placePath(place), 'link', 'a link; what it leads to is never touched');
}

function notAFile({ day, folder }: Level, name: string): Problem {
  return problem(placePath({ day, folder, name }), 'special', 'a directory named like a Session');
}

function problem(file: string, kind: HistoryProblem['kind'], reason: string): Problem {
  return { kind: 'problem', problem: { file, kind, reason } };
}

/** Undefined when it is gone. */
function openFolder(
  parent: DirectoryHandle,
  name: string,
  path: string,
): DirectoryHandle | Problem | undefined {
  try {
    return openChildDirectory(parent, name);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return isMisread(name) ? problem(path, 'unreadable', MISREAD) : undefined;
    // It was replaced since the directory was read.
    if (hasCode(error, 'ENOTDIR', 'ELOOP')) return problem(path, 'link', 'no directory, or a link to one');
    if (error instanceof MountPointError)
      return problem(path, 'mount', 'another file system is mounted there');
    return problem(path, 'unreadable', messageOf(error));
  }
}
