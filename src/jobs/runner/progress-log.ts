/** `progress.log`: appended to over all runs, of a bounded size (J2, J6). */
import type { FileHandle } from 'node:fs/promises';
import { writeFileAtomic } from '../../lib/atomic-file.ts';
import { FileError } from '../../lib/file-error.ts';
import { jobFile, openLog } from '../files.ts';
import type { JobDirectory } from '../places.ts';

/** When it is longer, its first half goes. */
const MAX_BYTES = 4 * 1_024 * 1_024;
const LF = 0x0a;

export interface ProgressLog {
  /** Resolves when the line is written, after all before it. One that cannot be written is lost, and that is told. */
  write(line: string): Promise<void>;
  /** When all is written; what comes later is lost. */
  close(): Promise<void>;
}

export function openProgressLog(
  directory: JobDirectory,
  onFailure: (error: unknown) => void,
  maxBytes = MAX_BYTES,
): ProgressLog {
  const path = jobFile(directory, 'progress.log');
  let opened: { handle: FileHandle; size: number } | undefined;
  let last: Promise<void> = Promise.resolve();
  let closed = false;

  async function append(line: string): Promise<void> {
    try {
      opened ??= await openAt(directory);
      const bytes = Buffer.from(`${line}\n`);
      if (opened.size + bytes.length > maxBytes) {
        const shortened = opened.handle;
        opened = undefined;
        await shorten(shortened, path, maxBytes);
        opened = await openAt(directory);
      }
      await opened.handle.appendFile(bytes);
      opened.size += bytes.length;
    } catch (error) {
      onFailure(error instanceof FileError ? error : new FileError('append to', path, error));
      // A line that was written in part is closed when it is opened again.
      const broken = opened;
      opened = undefined;
      await broken?.handle.close().catch(() => {});
    }
  }

  return {
    write(line) {
      if (!closed) last = last.then(() => append(line));
      return last;
    },
    async close() {
      closed = true;
      await last;
      await opened?.handle.close();
      opened = undefined;
    },
  };
}

/** A line that a crash left without its end is closed. */
async function openAt(directory: JobDirectory): Promise<{ handle: FileHandle; size: number }> {
  const handle = await openLog(directory, 'progress.log');
  const { size } = await handle.stat();
  if (size === 0) return { handle, size };
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  if (buffer[0] === LF) return { handle, size };
  await handle.appendFile('\n');
  return { handle, size: size + 1 };
}

/** Keeps the latest half, from the beginning of a line. */
async function shorten(handle: FileHandle, path: string, maxBytes: number): Promise<void> {
  try {
    const { size } = await handle.stat();
    const length = Math.min(size, Math.floor(maxBytes / 2));
    const { buffer } = await handle.read(Buffer.alloc(length), 0, length, size - length);
    const kept = buffer.subarray(buffer.indexOf(LF) + 1);
    await writeFileAtomic(path, kept, { follow: false });
  } finally {
    await handle.close();
  }
}
