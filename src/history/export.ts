/** Session files as they are, streamed out: one of them, or a tar of a domain's. */
import { once } from 'node:events';
import { closeSync, createReadStream, fstatSync, readSync } from 'node:fs';
import { Readable } from 'node:stream';
import type { Pack } from 'tar-stream';
import { type DirectoryHandle, openChildFile, openDirectory } from '../lib/directory-handle.ts';
import { OperationError, PiSandboxError } from '../lib/errors.ts';
import { inFolder } from './folders.ts';
import { placePath } from './layout.ts';
import { inHistory } from './own-directory.ts';
import { select } from './select.ts';
import type { History, HistoryNeeds } from './types.ts';
import { type FoundFile, walkSessions, walkTrash } from './walk.ts';

const PIECE_BYTES = 256 * 1024;

/**
 * The bytes of one Session, as many as it has now: a pi that goes on writing does not make it endless.
 *
 * @throws UsageError (none, or several), FileError
 */
export async function exportSession(
  history: History,
  selector: string,
  needs: HistoryNeeds = {},
): Promise<{ file: string; bytes: number; content: Readable }> {
  return inHistory(history, async (root) => {
    const { place, file } = await select(root, selector, 'either', needs);
    const { fd, stats } = inFolder(root, place, (at) => openChildFile(at, place.name));
    return { file, bytes: stats.size, content: bytesOf(fd, stats.size) };
  });
}

function bytesOf(fd: number, size: number): Readable {
  // The end of a range is part of it, so an empty file has none.
  if (size > 0) return createReadStream('', { fd, start: 0, end: size - 1 });
  closeSync(fd);
  return Readable.from([]);
}

/**
 * A tar of every Session of the domain, with its mtime, by its path below the sessions directory; with `trash` the
 * trash too. Streamed: no more than a piece of one file is in memory. A file that gets shorter meanwhile fails it.
 */
export async function exportHistory(history: History, { trash = false } = {}): Promise<Readable> {
  return tarOf(function* () {
    const root = openDirectory(history.sessions);
    try {
      for (const walk of trash ? [walkSessions(root), walkTrash(root)] : [walkSessions(root)]) {
        for (const found of walk) if (found.kind === 'file') yield { ...found, name: found.place.name };
      }
    } finally {
      root.close();
    }
  });
}

/** A file for the tar: `name` in `at`, and the path that it gets. */
export type TarredFile = Pick<FoundFile, 'at' | 'place'> & { readonly name: string };

/** A tar of these files with their times, streamed. What is gone or unreadable when its turn comes is left out. */
export async function tarOf(files: () => Iterable<TarredFile>): Promise<Readable> {
  const { pack } = await import('../lib/tar-stream.ts');
  const tar = pack();
  const closed = new AbortController();
  tar.once('close', () => closed.abort());
  const write = async (): Promise<void> => {
    try {
      for (const file of files()) await addFile(tar, file, closed.signal);
      tar.finalize();
    } catch (error) {
      tar.destroy(error instanceof Error ? error : new OperationError(String(error)));
    }
  };
  void write();
  return Readable.from(tar);
}

async function addFile(tar: Pack, { at, place, name }: TarredFile, closed: AbortSignal): Promise<void> {
  const opened = openForExport(at, name);
  if (!opened) return;
  const { fd, stats } = opened;
  try {
    const { size, mtime } = stats;
    const entry = tar.entry({
      name: placePath(place),
      size,
      mtime,
      mode: 0o600,
      pax: { mtime: exactTime(fd) },
    });
    // Told by the tar, which ends with it.
    entry.on('error', () => undefined);
    for (let done = 0; done < stats.size; ) {
      const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, stats.size - done));
      const bytes = readSync(fd, piece, 0, piece.length, done);
      if (bytes === 0) throw new OperationError(`${placePath(place)} became shorter while it was exported`);
      done += bytes;
      if (!entry.write(piece.subarray(0, bytes))) await once(entry, 'drain', { signal: closed });
    }
    closed.throwIfAborted();
    const ended = once(entry, 'close', { signal: closed });
    entry.end(() => undefined);
    await ended;
  } finally {
    closeSync(fd);
  }
}

/** Seconds with nine digits behind the point: a tar's own field has none. */
function exactTime(fd: number): string {
  const { mtimeNs } = fstatSync(fd, { bigint: true });
  const nanoseconds = (mtimeNs < 0n ? 0n : mtimeNs).toString().padStart(10, '0');
  return `${nanoseconds.slice(0, -9)}.${nanoseconds.slice(-9)}`;
}

/** Undefined for what is gone or unreadable: `sessions list` says so. */
function openForExport(at: DirectoryHandle, name: string): ReturnType<typeof openChildFile> | undefined {
  try {
    return openChildFile(at, name);
  } catch (error) {
    if (error instanceof PiSandboxError) return undefined;
    throw error;
  }
}
