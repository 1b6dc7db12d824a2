/**
 * Moving between file systems, in steps that can each be the last one (W10): a copy under a passing name, a mark that it
 * is ours, its own name, and only when every byte has been compared the end of the original. Killed in between, the next
 * run either begins again or compares and ends the original; without the mark two equal files are a collision like any.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  futimesSync,
  readSync,
  type Stats,
  writeSync,
} from 'node:fs';
import {
  entriesOf,
  linkChild,
  renameChild,
  statChild,
  syncDirectory,
  unlinkChild,
} from '../../lib/directory-entries.ts';
import { type DirectoryHandle, makeChildDirectory, openChildFile } from '../../lib/directory-handle.ts';
import { LimitError, OperationError } from '../../lib/errors.ts';
import { passingNames, writeMark } from './marks.ts';
import { inChild, removeTree } from './tree.ts';

/** Where an entry is and where it is to be. */
export interface Way {
  readonly from: DirectoryHandle;
  readonly name: string;
  readonly to: DirectoryHandle;
  readonly newName: string;
}

const PIECE_BYTES = 1024 * 1024;
/** Of one entry; a larger tree is left for hands (rule 7). */
const MOST = { entries: 100_000, depth: 64 };

/**
 * Copies an entry to its new place, without touching the original.
 *
 * @returns why it cannot be copied; undefined when the copy stands there whole
 */
export function copyEntry({ from, name, to, newName }: Way): string | undefined {
  const reason = reasonAgainst(from, name);
  if (reason !== undefined) return reason;
  const { copy, mark } = passingNames(newName);
  removeTree(to, copy);
  removeTree(to, mark);
  copyTree(from, name, to, copy);
  writeMark(to, mark, name);
  if (statChild(to, copy)?.isDirectory()) renameChild(to, copy, to, newName);
  else {
    linkChild(to, copy, to, newName);
    unlinkChild(to, copy);
  }
  syncDirectory(to);
  return undefined;
}

/**
 * Ends the original of a copy that stands whole at its new place; true when it has.
 *
 * A copy of ours has a mark beside it. The original goes only if every file that is still in it is there, byte for byte.
 */
export function finishCopy({ from, name, to, newName }: Way): boolean {
  const { copy, mark } = passingNames(newName);
  if (statChild(to, mark) === undefined || statChild(to, newName) === undefined) return false;
  if (!isContained(from, name, to, newName)) return false;
  removeTree(from, name);
  syncDirectory(from);
  removeTree(to, copy);
  removeTree(to, mark);
  return true;
}

/** A tree goes whole or not at all: what cannot be copied keeps all of it where it is. */
function reasonAgainst(from: DirectoryHandle, name: string): string | undefined {
  let entries = 0;
  const look = (parent: DirectoryHandle, child: string, depth: number): string | undefined => {
    const facts = statChild(parent, child);
    if (facts === undefined || facts.isFile()) return undefined;
    if (!facts.isDirectory()) return `it holds ${child}, which is neither a file nor a directory`;
    if (depth === MOST.depth) return `it is more than ${MOST.depth} directories deep`;
    return inChild(parent, child, (directory) => {
      for (const entry of entriesOf(directory)) {
        if (++entries > MOST.entries) return `it holds more than ${MOST.entries} entries`;
        const reason = look(directory, entry.name, depth + 1);
        if (reason !== undefined) return reason;
      }
      return undefined;
    });
  };
  return look(from, name, 0);
}

function copyTree(from: DirectoryHandle, name: string, to: DirectoryHandle, newName: string): void {
  const facts = statChild(from, name);
  if (facts === undefined) throw new OperationError(`${name} is gone`);
  if (!facts.isDirectory()) {
    copyFile(from, name, to, newName);
    return;
  }
  inChild(from, name, (source) => {
    const target = makeChildDirectory(to, newName);
    try {
      for (const entry of entriesOf(source)) copyTree(source, entry.name, target, entry.name);
      keepFacts(target.fd, facts);
      syncDirectory(target);
    } finally {
      target.close();
    }
  });
}

function copyFile(from: DirectoryHandle, name: string, to: DirectoryHandle, newName: string): void {
  const source = openChildFile(from, name);
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
    const { fd } = openChildFile(to, newName, flags);
    try {
      for (const piece of pieces(source.fd)) {
        for (let at = 0; at < piece.length; ) at += writeSync(fd, piece, at);
      }
      keepFacts(fd, source.stats);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  } finally {
    closeSync(source.fd);
  }
}

function keepFacts(fd: number, { mode, atime, mtime }: Stats): void {
  fchmodSync(fd, mode & 0o777);
  futimesSync(fd, atime, mtime);
}

function* pieces(fd: number): Generator<Buffer> {
  for (;;) {
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    const length = readSync(fd, piece, 0, piece.length, null);
    if (length === 0) return;
    yield piece.subarray(0, length);
  }
}

/** True when all that is at the first place is at the second, too. */
function isContained(
  from: DirectoryHandle,
  name: string,
  to: DirectoryHandle,
  newName: string,
  depth = 0,
): boolean {
  if (depth > MOST.depth) throw new LimitError(`${name} is more than ${MOST.depth} directories deep`);
  const [here, there] = [statChild(from, name), statChild(to, newName)];
  if (here === undefined || there === undefined) return false;
  if (here.isFile()) return there.isFile() && here.size === there.size && sameBytes(from, name, to, newName);
  if (!here.isDirectory() || !there.isDirectory()) return false;
  return inChild(from, name, (source) =>
    inChild(to, newName, (target) => {
      for (const entry of entriesOf(source)) {
        if (!isContained(source, entry.name, target, entry.name, depth + 1)) return false;
      }
      return true;
    }),
  );
}

function sameBytes(from: DirectoryHandle, name: string, to: DirectoryHandle, newName: string): boolean {
  return digest(from, name).equals(digest(to, newName));
}

function digest(directory: DirectoryHandle, name: string): Buffer {
  const { fd } = openChildFile(directory, name);
  try {
    const hash = createHash('sha256');
    for (const piece of pieces(fd)) hash.update(piece);
    return hash.digest();
  } finally {
    closeSync(fd);
  }
}
