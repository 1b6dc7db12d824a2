/**
 * The trash of Sessions (S11), and how one comes back that retention moved there while it was open. The trash is
 * `<sessions>/.trash/<date>/<folder>/<file>.trashed`, without the folder for a file that lay directly in `<sessions>`;
 * a second copy of one day is `<file>.2.trashed`, and so on.
 */
import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  unlinkSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { hasCode } from '../lib/errors.ts';
import { readSessionFileId } from './session-file.ts';

/** Days of trash that are searched, newest first; the trash keeps a week by default. */
const MOST_DAYS = 400;

const MOST_TRIES = 20;

/** So many copies of one Session and day are kept apart. */
export const MOST_COPIES = 99;
export const TRASH_DIRECTORY = '.trash';

const TRASHED_NAME = /^(.+\.jsonl)(?:\.([1-9]\d?))?\.trashed$/;

/** The name in the trash of the `copy`th (1, 2, …) copy of a Session file on one day. */
export function trashedName(name: string, copy: number): string {
  return copy === 1 ? `${name}.trashed` : `${name}.${copy}.trashed`;
}

/** The name that a file in the trash had before; undefined when it is not named as the trash names files. */
export function nameBeforeTrash(trashed: string): string | undefined {
  return TRASHED_NAME.exec(trashed)?.[1];
}

/**
 * `from` is where it was, in the trash of `sessions`. `both`: a file stands where the Session was, so the trashed one was
 * left where it is.
 */
export type BroughtBack =
  | { outcome: 'restored'; from: string; sessions: string }
  | { outcome: 'both'; trashed: string }
  | { outcome: 'not-found' };

/** Moves the newest trashed copy of this Session back to `file`; without an id, of whichever was there. Never replaces a file. */
export function bringBackFromTrash(file: string, id: string | undefined): BroughtBack {
  for (const { trashed, sessions } of trashedCopies(file)) {
    const found = idOf(trashed);
    if (found === undefined || (id !== undefined && found !== id)) continue;
    const moved = moveBack(trashed, file);
    if (moved === 'taken') return { outcome: 'both', trashed };
    if (moved === 'moved') return { outcome: 'restored', from: trashed, sessions };
  }
  return { outcome: 'not-found' };
}

/** `gone`: it was deleted since it was looked at. */
function moveBack(trashed: string, file: string): 'moved' | 'taken' | 'gone' {
  for (let tries = 1; ; tries++) {
    try {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      moveWithoutReplacing(trashed, file);
      return 'moved';
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return 'taken';
      if (!hasCode(error, 'ENOENT')) throw error;
      if (!existsSync(trashed)) return 'gone';
      // A prune has removed the folder, which it had emptied, between these two.
      if (tries >= MOST_TRIES) throw error;
    }
  }
}

function* trashedCopies(file: string): Generator<{ trashed: string; sessions: string }> {
  const folder = dirname(file);
  const name = basename(file);
  for (const [sessions, inside] of [
    [dirname(folder), basename(folder)],
    [folder, ''],
  ] as const) {
    const trash = join(sessions, TRASH_DIRECTORY);
    for (const day of newestFirst(trash)) {
      const directory = join(trash, day, inside);
      for (let copy = copiesIn(directory, name); copy >= 1; copy--)
        yield { trashed: join(directory, trashedName(name, copy)), sessions };
    }
  }
}

/** How many copies there may be: they are numbered without gaps, but for one that came back since. */
function copiesIn(directory: string, name: string): number {
  let last = 1;
  for (let copy = 2; copy <= MOST_COPIES && copy <= last + 3; copy++)
    if (existsSync(join(directory, trashedName(name, copy)))) last = copy;
  return last;
}

function newestFirst(trash: string): string[] {
  try {
    return readdirSync(trash).sort().reverse().slice(0, MOST_DAYS);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'EACCES')) return [];
    throw error;
  }
}

function idOf(file: string): string | undefined {
  try {
    return readSessionFileId(file);
  } catch {
    // Absent on this day, or a link or file that is not ours to read.
    return undefined;
  }
}

/**
 * A hard link fails where a file stands, which a rename would silently replace. Both names to one file are what a move
 * that was killed in its middle has left: it is finished.
 */
function moveWithoutReplacing(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if (hasCode(error, 'EPERM', 'ENOTSUP', 'EXDEV', 'EMLINK'))
      copyFileSync(from, to, constants.COPYFILE_EXCL);
    else if (!hasCode(error, 'EEXIST') || !isSameFile(from, to)) throw error;
  }
  try {
    unlinkSync(from);
  } catch (error) {
    // It is where it belongs; that somebody else removed the other name is no reason to fail.
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}

function isSameFile(one: string, other: string): boolean {
  const [first, second] = [lstatSync(one), lstatSync(other)];
  return first.isFile() && first.ino === second.ino && first.dev === second.dev;
}
