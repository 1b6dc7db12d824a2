/** What a move between file systems has beside the new place while it goes on: a copy, and the mark that it is ours. */
import { createHash } from 'node:crypto';
import { closeSync, constants, fsyncSync, readSync, writeSync } from 'node:fs';
import { entriesOf } from '../../lib/directory-entries.ts';
import { type DirectoryHandle, openChildFile } from '../../lib/directory-handle.ts';
import { removeTree } from './tree.ts';

const PASSING = '.pi-sandbox-moving-';
const PLACED = '.placed';
/** The longest name of a file. */
const NAME_BYTES = 255;

/** By the new name, so that a second run finds what the first one began. */
export function passingNames(newName: string): { copy: string; mark: string } {
  const copy = PASSING + createHash('sha256').update(newName).digest('hex').slice(0, 32);
  return { copy, mark: copy + PLACED };
}

/** What killed moves have left in a directory that entries were moved to. */
export function tracesIn(to: DirectoryHandle): string[] {
  return [...entriesOf(to)].map(({ name }) => name).filter((name) => name.startsWith(PASSING));
}

/** Takes it away, but for the marks of originals that are still there. */
export function sweep(to: DirectoryHandle, isThere: (original: string) => boolean): void {
  for (const name of tracesIn(to)) {
    if (!name.endsWith(PLACED) || !isThere(readMark(to, name))) removeTree(to, name);
  }
}

/** Names the original, so that a sweep knows when nobody needs it any more. */
export function writeMark(to: DirectoryHandle, mark: string, original: string): void {
  const { fd } = openChildFile(to, mark, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL);
  try {
    writeSync(fd, original);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function readMark(to: DirectoryHandle, mark: string): string {
  const { fd } = openChildFile(to, mark);
  try {
    const content = Buffer.alloc(NAME_BYTES);
    return content.toString('utf8', 0, readSync(fd, content, 0, NAME_BYTES, 0));
  } finally {
    closeSync(fd);
  }
}
