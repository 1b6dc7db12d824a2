/**
 * Writes a tar that a sandbox sends into a directory on this machine. Nothing in it is believed (rule 8): names that lead
 * out are refused, links are made and never walked through, devices and pipes are left out, and what stands in a file's
 * place is replaced and never written into.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  futimesSync,
  openSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import { temporaryName } from '../../../lib/atomic-file.ts';
import { linkChild, renameChild, statChild, unlinkChild } from '../../../lib/directory-entries.ts';
import {
  type DirectoryHandle,
  makeChildDirectory,
  openChildDirectory,
} from '../../../lib/directory-handle.ts';
import { hasCode, OperationError } from '../../../lib/errors.ts';

/** What of a tar's entry counts here. */
export interface TarEntry {
  readonly header: {
    readonly name: string;
    readonly type?: string | null | undefined;
    readonly mode?: number | undefined;
    readonly mtime?: Date | undefined;
    readonly linkname?: string | null | undefined;
  };
  readonly content: AsyncIterable<unknown>;
}

export interface Extraction {
  readonly top: DirectoryHandle;
  /** The name that the first component of every entry is exchanged for; undefined: the entries' own names. */
  readonly rename: string | undefined;
  /** Names what is left out. */
  readonly onSkipped: (line: string) => void;
}

/** Deeper names are nobody's (rule 7). */
const MAX_DEPTH = 256;

/**
 * Extracts one entry after the other. A file is whole or absent; what was written before a failure stays.
 *
 * @throws OperationError for a name that leads out, FileError when the system refuses
 */
export async function extractAll(entries: AsyncIterable<TarEntry>, extraction: Extraction): Promise<void> {
  const path = new OpenPath(extraction.top);
  try {
    for await (const entry of entries) await extractOne(entry, path, extraction);
  } finally {
    path.close();
  }
}

async function extractOne(entry: TarEntry, path: OpenPath, extraction: Extraction): Promise<void> {
  const { header, content } = entry;
  const parts = partsOf(header.name, extraction);
  const name = parts.at(-1);
  const skip = async (why: string): Promise<void> => {
    extraction.onSkipped(`${header.name} was left out: ${why}`);
    await drain(content);
  };
  switch (header.type ?? 'file') {
    case 'directory':
      path.to(parts, header.mode);
      return drain(content);
    case 'file':
    case 'contiguous-file':
      if (name === undefined) return skip('it has no name');
      return writeFile(path.to(parts.slice(0, -1)), name, header, content);
    case 'symlink':
      if (name === undefined) return skip('it has no name');
      makeLink(path.to(parts.slice(0, -1)), name, (directory, temporary) =>
        symlinkSync(header.linkname ?? '', directory.at(temporary)),
      );
      return drain(content);
    case 'link': {
      const target = partsOf(header.linkname ?? '', extraction);
      const file = target.at(-1);
      if (name === undefined || file === undefined) return skip('it has no name');
      const from = path.to(target.slice(0, -1)).borrow();
      try {
        if (statChild(from, file)?.isFile() !== true) return await skip('it links to no file of the copy');
        makeLink(path.to(parts.slice(0, -1)), name, (directory, temporary) =>
          linkChild(from, file, directory, temporary),
        );
      } finally {
        from.close();
      }
      return drain(content);
    }
    default:
      return skip(`it is a ${header.type}`);
  }
}

/** A directory's mode as it was, as far as its owner can still fill and remove it. */
export function ownMode(mode = 0o755): number {
  return (mode & 0o777) | 0o700;
}

function partsOf(name: string, { rename }: Extraction): string[] {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..') || name.includes('\0') || parts.length > MAX_DEPTH) {
    throw new OperationError(`the sandbox sent a name that leads out of the copy: ${JSON.stringify(name)}`, {
      hint: 'something in it may be trying to write elsewhere; what was copied before this stays',
    });
  }
  return rename === undefined || parts.length === 0 ? parts : [rename, ...parts.slice(1)];
}

async function writeFile(
  directory: BorrowedHandle,
  name: string,
  { mode = 0o644, mtime }: TarEntry['header'],
  content: AsyncIterable<unknown>,
): Promise<void> {
  requireNoDirectory(directory, name);
  // Its own, so that the file's name is never there with half a content.
  const own = directory.borrow();
  const temporary = temporaryName();
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const fd = openSync(own.at(temporary), flags, 0o600);
  try {
    try {
      for await (const chunk of content) if (chunk instanceof Uint8Array) writeWhole(fd, chunk);
      fchmodSync(fd, mode & 0o777);
      if (mtime !== undefined) futimesSync(fd, mtime, mtime);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameChild(own, temporary, own, name);
  } catch (error) {
    remove(own, temporary);
    throw error;
  } finally {
    own.close();
  }
}

function writeWhole(fd: number, chunk: Uint8Array): void {
  for (let at = 0; at < chunk.length; ) at += writeSync(fd, chunk, at);
}

function makeLink(
  directory: BorrowedHandle,
  name: string,
  make: (directory: DirectoryHandle, temporary: string) => void,
): void {
  requireNoDirectory(directory, name);
  const temporary = temporaryName();
  make(directory, temporary);
  try {
    renameChild(directory, temporary, directory, name);
  } finally {
    // A rename of two names for the same file does nothing and leaves both.
    remove(directory, temporary);
  }
}

function requireNoDirectory(directory: DirectoryHandle, name: string): void {
  if (statChild(directory, name)?.isDirectory() !== true) return;
  throw new OperationError(`${directory.path}/${name} is a directory here and none in the sandbox`, {
    hint: 'move it away first',
  });
}

function remove(directory: DirectoryHandle, name: string): void {
  try {
    unlinkChild(directory, name);
  } catch (error) {
    if (!hasCode(error, 'ENOENT') && !(error instanceof Error && hasCode(error.cause, 'ENOENT'))) throw error;
  }
}

async function drain(content: AsyncIterable<unknown>): Promise<void> {
  for await (const _chunk of content);
}

/** A handle that stays open although the walk goes on elsewhere. */
interface BorrowedHandle extends DirectoryHandle {
  borrow(): DirectoryHandle;
}

/** The directories down to where the last entry went: the next one is mostly near. */
class OpenPath {
  readonly #top: DirectoryHandle;
  readonly #open: { name: string; handle: DirectoryHandle }[] = [];

  constructor(top: DirectoryHandle) {
    this.#top = top;
  }

  /** The directory of these components, made where it is missing; `mode` is given to one that is made only. */
  to(parts: readonly string[], mode?: number): BorrowedHandle {
    let same = 0;
    while (same < parts.length && this.#open[same]?.name === parts[same]) same++;
    for (const { handle } of this.#open.splice(same)) handle.close();
    for (const [index, name] of parts.slice(same).entries()) {
      const isNew = same + index === parts.length - 1 && statChild(this.#last(), name) === undefined;
      const handle = makeChildDirectory(this.#last(), name, 0o755);
      this.#open.push({ name, handle });
      if (isNew && mode !== undefined) fchmodSync(handle.fd, ownMode(mode));
    }
    const last = this.#last();
    return { ...last, borrow: () => openChildDirectory(last, '.') };
  }

  close(): void {
    for (const { handle } of this.#open.splice(0)) handle.close();
  }

  #last(): DirectoryHandle {
    return this.#open.at(-1)?.handle ?? this.#top;
  }
}
