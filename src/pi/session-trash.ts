/**
 * Brings a Session back that retention moved to the trash while it was open (S11). The trash is
 * `<sessions>/.trash/<date>/<folder>/<file>.trashed`, without the folder for a file that lay directly in `<sessions>`.
 */
import { constants, copyFileSync, linkSync, mkdirSync, readdirSync, unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { hasCode } from '../lib/errors.ts';
import { readSessionFileId } from './session-file.ts';

/** Days of trash that are searched, newest first; the trash keeps a week by default. */
const MOST_DAYS = 400;

/** `both`: a file stands where the Session was, so the trashed one was left where it is. */
export type BroughtBack =
  | { outcome: 'restored'; from: string }
  | { outcome: 'both'; trashed: string }
  | { outcome: 'not-found' };

/** Moves the newest trashed copy of this Session back to `file`. Never replaces a file. */
export function bringBackFromTrash(file: string, id: string): BroughtBack {
  for (const trashed of trashedCopies(file)) {
    if (idOf(trashed) !== id) continue;
    try {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      moveWithoutReplacing(trashed, file);
      return { outcome: 'restored', from: trashed };
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return { outcome: 'both', trashed };
      throw error;
    }
  }
  return { outcome: 'not-found' };
}

function* trashedCopies(file: string): Generator<string> {
  const folder = dirname(file);
  const name = `${basename(file)}.trashed`;
  for (const [sessions, inside] of [
    [dirname(folder), basename(folder)],
    [folder, ''],
  ] as const) {
    const trash = join(sessions, '.trash');
    for (const day of newestFirst(trash)) yield join(trash, day, inside, name);
  }
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

/** A hard link fails where a file stands, which a rename would silently replace. */
function moveWithoutReplacing(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if (!hasCode(error, 'EPERM', 'ENOTSUP', 'EXDEV', 'EMLINK')) throw error;
    copyFileSync(from, to, constants.COPYFILE_EXCL);
  }
  unlinkSync(from);
}
