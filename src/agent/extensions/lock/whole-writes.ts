/**
 * pi writes a Session file in place, entry by entry. Where that fails half way, mostly for lack of room, these take
 * back what was written: a Session is whole or absent, and so is each entry (rule 2). The caller holds the Session's
 * lock, so nobody else writes to the file.
 */
import {
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  statSync,
  truncateSync,
  unlinkSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { temporaryName } from '../../../lib/atomic-file.ts';

/** Does one append; what was written of it until it failed is cut off again, and a file that it made is removed. */
export function appendWhole(file: string, append: () => void): void {
  const before = statSync(file, { throwIfNoEntry: false })?.size;
  try {
    append();
  } catch (error) {
    takeBack(file, before);
    throw error;
  }
}

function takeBack(file: string, before: number | undefined): void {
  try {
    const now = statSync(file, { throwIfNoEntry: false })?.size;
    if (now === undefined) return;
    if (before === undefined) unlinkSync(file);
    else if (now > before) truncateSync(file, before);
  } catch {
    // The error that matters is the writer's own.
  }
}

/**
 * Lets pi write all of a Session into a new file beside it, which then takes its place: an old Session that pi brings
 * to its own version is not cut to nothing on a full disk. `setFile` tells pi where to write.
 */
export function rewriteWhole(file: string, setFile: (file: string) => void, rewrite: () => void): void {
  if (!existsSync(file)) {
    appendWhole(file, rewrite);
    return;
  }
  // A final link is resolved, so that the file behind it is replaced and never the link.
  const target = realpathSync(file);
  const fresh = join(dirname(target), temporaryName());
  try {
    setFile(fresh);
    try {
      rewrite();
    } finally {
      setFile(file);
    }
    settle(fresh, statSync(target).mode);
    renameSync(fresh, target);
  } catch (error) {
    takeBack(fresh, undefined);
    throw error;
  }
  settle(dirname(target));
}

function settle(path: string, mode?: number): void {
  const fd = openSync(path, 'r');
  try {
    if (mode !== undefined) fchmodSync(fd, mode & 0o777);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
