/**
 * Reads what is to go into a sandbox from this machine, as entries of a tar. What is walked may be a project that a
 * session changes at this moment: below what the user named no link is followed (rule 8).
 */
import { closeSync, constants, lstatSync, readlinkSync, readSync, realpathSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { entriesOf, statChild } from '../../../lib/directory-entries.ts';
import {
  type DirectoryHandle,
  openChildDirectory,
  openChildFile,
  openDirectory,
} from '../../../lib/directory-handle.ts';
import { hasCode, messageOf, OperationError, UsageError } from '../../../lib/errors.ts';
import { requireNoWayOut } from './project-links.ts';

/** What a single file is called on its way: its name is given where it goes. */
export const SINGLE_NAME = 'entry';
const PIECE_BYTES = 256 * 1024;

export interface Source {
  readonly kind: 'file' | 'directory' | 'link';
  readonly name: string;
  /** Only what is in the directory (`dir/.`). */
  readonly contents: boolean;
  readonly directory: DirectoryHandle;
}

/** One entry for the tar; `content` has exactly `size` bytes. */
export interface OutgoingEntry {
  readonly name: string;
  readonly type: 'file' | 'directory' | 'symlink';
  readonly mode: number;
  readonly mtime: Date;
  readonly size: number;
  readonly linkname?: string;
  readonly content?: () => Iterable<Uint8Array>;
}

/** What the user named; `follow` as docker's `-L`: a link in its last component is followed, if it stays in the project. */
export function openSource(word: string, follow: boolean, project: string): Source {
  const contents = /(^|\/)\.$/.test(word);
  const named = resolve(word);
  const followed = follow || contents || word.endsWith('/');
  try {
    const path = followed ? realpathSync(named) : named;
    const facts = lstatSync(path);
    const kind = facts.isDirectory() ? 'directory' : facts.isSymbolicLink() ? 'link' : 'file';
    if (kind === 'file' && !facts.isFile()) throw new UsageError(`${word} is no file and no directory`);
    const directory = openDirectory(realpathSync(dirname(path)));
    try {
      if (followed) requireNoWayOut(project, named, directory, basename(path));
      else requireNoWayOut(project, dirname(named), directory);
    } catch (error) {
      directory.close();
      throw error;
    }
    return { kind, name: basename(path), contents, directory };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const reason = hasCode(error, 'ENOENT') ? 'does not exist' : messageOf(error);
    throw new UsageError(`${word} ${reason}`);
  }
}

/** Everything below what was named, from `.` on, parents first; a single file or link is called {@link SINGLE_NAME}; what cannot be copied is said and left out. */
export function* entriesOfSource(
  source: Source,
  onSkipped: (line: string) => void,
): Generator<OutgoingEntry> {
  const { directory, name, kind } = source;
  if (kind === 'directory') yield* treeOf(directory, name, '.', onSkipped);
  else yield* entryOf(directory, name, SINGLE_NAME, onSkipped);
}

function* treeOf(
  parent: DirectoryHandle,
  name: string,
  as: string,
  onSkipped: (line: string) => void,
): Generator<OutgoingEntry> {
  let directory: DirectoryHandle;
  try {
    directory = openChildDirectory(parent, name);
  } catch (error) {
    onSkipped(messageOf(error));
    return;
  }
  try {
    const facts = lstatSync(directory.at('.'));
    yield { name: `${as}/`, type: 'directory', mode: facts.mode & 0o777, mtime: facts.mtime, size: 0 };
    for (const entry of entriesOf(directory)) {
      const inside = `${as}/${entry.name}`;
      if (entry.isDirectory()) yield* treeOf(directory, entry.name, inside, onSkipped);
      else yield* entryOf(directory, entry.name, inside, onSkipped);
    }
  } finally {
    directory.close();
  }
}

function* entryOf(
  directory: DirectoryHandle,
  name: string,
  as: string,
  onSkipped: (line: string) => void,
): Generator<OutgoingEntry> {
  const path = `${directory.path}/${name}`;
  try {
    const facts = statChild(directory, name);
    if (facts?.isSymbolicLink()) {
      const linkname = readlinkSync(directory.at(name));
      yield { name: as, type: 'symlink', mode: 0o777, mtime: facts.mtime, size: 0, linkname };
    } else if (facts?.isFile()) {
      const { fd, stats } = openChildFile(directory, name, constants.O_RDONLY);
      try {
        yield {
          name: as,
          type: 'file',
          mode: stats.mode & 0o777,
          mtime: stats.mtime,
          size: stats.size,
          content: () => piecesOf(fd, stats.size, path),
        };
      } finally {
        closeSync(fd);
      }
    } else if (facts !== undefined) onSkipped(`${path} was left out: it is no file, directory or link`);
  } catch (error) {
    if (error instanceof ShrunkError) throw error;
    onSkipped(messageOf(error));
  }
}

/** A tar says a file's size before its bytes. */
class ShrunkError extends OperationError {}

function* piecesOf(fd: number, size: number, path: string): Generator<Uint8Array> {
  for (let at = 0; at < size; ) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, size - at));
    const count = readSync(fd, piece, 0, piece.length, at);
    if (count === 0) throw new ShrunkError(`${path} became shorter while it was copied: try again`);
    at += count;
    yield piece.subarray(0, count);
  }
}
