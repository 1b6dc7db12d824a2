import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { Link } from '../../agent-dir/index.ts';
import { makeStateDirectory, writeFileAtomic } from '../../lib/atomic-file.ts';
import { hasCode, LimitError } from '../../lib/errors.ts';

/** Larger files are not state of pi's; they are reported and go with the container (rule 7). */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * A file that stood in a link's place and was taken from there. It stays open, for whoever wrote it may still have it
 * open too and go on writing, as a logger does.
 */
export interface TakenFile {
  readonly fd: number;
  /** Size and time of the content that was last put behind the link. */
  seen: string;
  /** What stood behind the link after that. Anything else there is somebody's newer work. */
  behind: string;
}

/**
 * Takes the file at `path` away and lets the link stand there, so that whatever was renamed into the place until the
 * last moment is what is taken, and nothing is lost. It lies at `aside` until the caller has put it behind the link.
 *
 * @returns the open file, or undefined when there is none any more
 */
export function exchangeForLink(path: string, aside: string, link: Link): number | undefined {
  if (!tryRename(path, aside)) return undefined;
  let fd: number | undefined;
  try {
    // Also in front of everything else: the moment without a link is as short as can be.
    tryLink(link.target, path);
    fd = openSync(aside, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if (fstatSync(fd).isFile()) return fd;
  } catch (error) {
    if (!hasCode(error, 'ELOOP', 'ENXIO', 'ENOENT')) throw error;
  }
  if (fd !== undefined) closeSync(fd);
  putBack(aside, path);
  return undefined;
}

/** Puts what is no file, or could not be put behind the link, back where it was found; a link is nothing to keep. */
export function putBack(aside: string, path: string): void {
  const stat = lstatSync(aside, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (!stat.isDirectory() && !stat.isFile()) {
    unlinkSync(aside);
    return;
  }
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) unlinkSync(path);
  renameSync(aside, path);
}

/** Makes the link where nothing stands; false when something does. */
export function tryLink(target: string, path: string): boolean {
  try {
    symlinkSync(target, path);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

function tryRename(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}

/** @throws LimitError, FileError; what stood behind the link is then as it was */
export async function putBehind(fd: number, link: Link): Promise<TakenFile> {
  const seen = stampOf(fd);
  const content = readAll(fd, link.name);
  await makeStateDirectory(dirname(link.target));
  await writeFileAtomic(link.target, content);
  return { fd, seen, behind: stampBehind(link) };
}

/** Puts what was written since behind the link, unless something newer stands there; false when it does. */
export async function putBehindAgain(file: TakenFile, link: Link): Promise<boolean> {
  if (stampOf(file.fd) === file.seen) return true;
  if (stampBehind(link) !== file.behind) return false;
  Object.assign(file, await putBehind(file.fd, link));
  return true;
}

export function stampOf(fd: number): string {
  const stat = fstatSync(fd, { bigint: true });
  return `${stat.size}:${stat.mtimeNs}`;
}

function stampBehind(link: Link): string {
  const stat = statSync(link.target, { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? '' : `${stat.ino}:${stat.size}:${stat.mtimeNs}`;
}

function readAll(fd: number, name: string): Buffer {
  const { size } = fstatSync(fd);
  if (size > MAX_BYTES) throw new LimitError(`${name} is larger than ${MAX_BYTES} bytes`);
  const content = Buffer.alloc(size);
  let at = 0;
  while (at < size) {
    const read = readSync(fd, content, at, size - at, at);
    if (read === 0) break;
    at += read;
  }
  return content.subarray(0, at);
}
