/**
 * Moves one entry to a new name, never over anything (W10). On one file system that is a single step: a directory's
 * rename fails where something stands, and a file gets its second name before it loses the first.
 */
import { join } from 'node:path';
import { linkChild, renameChild, statChild, unlinkChild } from '../../lib/directory-entries.ts';
import { hasCode, messageOf } from '../../lib/errors.ts';
import { isUndecodable } from '../../lib/stubborn-entries.ts';
import { copyEntry, finishCopy, type Way } from './copy.ts';

export type Placed =
  | { readonly outcome: 'moved' }
  /** Something else stands at the new name; nothing was changed. */
  | { readonly outcome: 'taken' }
  /** It stays where it is. */
  | { readonly outcome: 'left'; readonly reason: string };

const MOVED: Placed = { outcome: 'moved' };
const TAKEN: Placed = { outcome: 'taken' };

/** What the system refuses is a reason to leave the entry, and no end of the migration. */
export function placeEntry(way: Way): Placed {
  try {
    const facts = statChild(way.from, way.name);
    if (facts === undefined && isUndecodable(way.name))
      return { outcome: 'left', reason: 'its name is no text' };
    if (facts === undefined) return { outcome: 'left', reason: 'it is gone' };
    if (facts.isSymbolicLink()) return { outcome: 'left', reason: 'it is a link' };
    if (finishCopy(way)) return MOVED;
    if (facts.isDirectory()) return placeDirectory(way);
    if (facts.isFile()) return placeFile(way);
    return { outcome: 'left', reason: 'it is neither a file nor a directory' };
  } catch (error) {
    return { outcome: 'left', reason: messageOf(error) };
  }
}

function placeDirectory(way: Way): Placed {
  const { from, name, to, newName } = way;
  // An empty directory would be replaced by the rename, and is somebody's too.
  if (statChild(to, newName) !== undefined) return TAKEN;
  try {
    renameChild(from, name, to, newName);
    return MOVED;
  } catch (error) {
    if (hasCode(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EISDIR')) return TAKEN;
    if (hasCode(error, 'EXDEV')) return copied(way);
    throw error;
  }
}

function placeFile(way: Way): Placed {
  const { from, name, to, newName } = way;
  try {
    linkChild(from, name, to, newName);
  } catch (error) {
    if (hasCode(error, 'EXDEV')) return copied(way);
    if (hasCode(error, 'EEXIST')) {
      // The second name of an earlier run that was killed before it took the first away.
      if (!isSameFile(way)) return TAKEN;
    } else if (hasCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS')) {
      return renamedFile(way);
    } else throw error;
  }
  unlinkChild(from, name);
  return MOVED;
}

/** For file systems without second names. Only we write there while the migration's lock is held. */
function renamedFile({ from, name, to, newName }: Way): Placed {
  if (statChild(to, newName) !== undefined) return TAKEN;
  renameChild(from, name, to, newName);
  return MOVED;
}

function isSameFile({ from, name, to, newName }: Way): boolean {
  const [here, there] = [statChild(from, name), statChild(to, newName)];
  return here !== undefined && there !== undefined && here.ino === there.ino && here.dev === there.dev;
}

function copied(way: Way): Placed {
  if (statChild(way.to, way.newName) !== undefined) return TAKEN;
  const reason = copyEntry(way);
  if (reason !== undefined) return { outcome: 'left', reason };
  if (finishCopy(way)) return MOVED;
  const path = join(way.from.path, way.name);
  return { outcome: 'left', reason: `${path} was changed while it was copied` };
}
