/** Append-only logs of JSON, one value a line: a damaged line costs itself only (rule 2). */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { openRegularFile } from './bounded-read.ts';
import { OperationError } from './errors.ts';
import { FileError } from './file-error.ts';
import { type JsonLine, jsonLineReader, MAX_LINE_BYTES } from './json-line-reader.ts';

export type { JsonLine } from './json-line-reader.ts';

const LF = 0x0a;
const CHUNK_BYTES = 64 * 1024;

export interface JsonLinesOptions {
  /** A longer line is skipped and reported, without being held in memory. */
  maxLineBytes?: number;
  /** Reading stops after so many bytes, and says so as a last problem. */
  maxBytes?: number;
}

/**
 * Every line of a log, in order: its value, or why it has none (torn, corrupt, too long, no UTF-8). Lines end with
 * LF alone (U+2028 is text); empty lines are nothing. A handle is read from its current place and left open.
 *
 * @throws FileError when there is no such file or it cannot be read; UnsafeFileError when it is no regular file
 */
export async function* readJsonLines(
  source: string | FileHandle,
  { maxLineBytes = MAX_LINE_BYTES, maxBytes = Number.POSITIVE_INFINITY }: JsonLinesOptions = {},
): AsyncGenerator<JsonLine, void, undefined> {
  const handle = typeof source === 'string' ? await openLog(source) : source;
  try {
    const reader = jsonLineReader({ maxLineBytes });
    for await (const chunk of chunks(handle, maxBytes)) {
      if (chunk === 'limit') {
        yield { kind: 'problem', line: reader.line, reason: `only the first ${maxBytes} bytes were read` };
        return;
      }
      yield* reader.push(chunk);
    }
    yield* reader.end();
  } finally {
    if (handle !== source) await handle.close();
  }
}

async function openLog(path: string): Promise<FileHandle> {
  // The log itself may stand behind a link of ours (S4), so a link is followed here; a fifo is still refused.
  const handle = await openRegularFile(path, { within: '/' });
  if (handle) return handle;
  throw new FileError('read', path, Object.assign(new Error('no such file'), { code: 'ENOENT' }));
}

async function* chunks(handle: FileHandle, maxBytes: number): AsyncGenerator<Buffer | 'limit'> {
  for (let total = 0; ; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, null);
    if (bytesRead === 0) return;
    if (total + bytesRead > maxBytes) {
      yield buffer.subarray(0, maxBytes - total);
      yield 'limit';
      return;
    }
    total += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

export interface AppendOptions {
  /** Wait for the disk. */
  sync?: boolean;
  /**
   * False where others may write beside the log: a link in its place, symbolic or hard, is refused instead of followed
   * (rule 8).
   */
  follow?: boolean;
}

/**
 * Adds one line with a single write, so that writers in several processes do not mix. A last line that a crash left
 * without its newline is closed first. The file is made (0600) where it is missing.
 *
 * @throws FileError; a line that was written in part is then left for readers to report and for the next to close
 */
export async function appendJsonLine(path: string, value: unknown, options?: AppendOptions): Promise<void> {
  await appendJsonLines(path, [value], options);
}

/** As {@link appendJsonLine}, several lines with one write. */
export async function appendJsonLines(
  path: string,
  values: readonly unknown[],
  { sync = false, follow = true }: AppendOptions = {},
): Promise<void> {
  const json = values.map((value) => {
    const line = JSON.stringify(value);
    if (line === undefined) throw new OperationError(`cannot write ${typeof value} as JSON to ${path}`);
    return `${line}\n`;
  });
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, follow ? flags : flags | constants.O_NOFOLLOW, 0o600);
    const stats = await handle.stat();
    const { size, mode } = stats;
    if (!follow && !stats.isFile()) throw new OperationError('it is not a regular file');
    if (!follow && stats.nlink > 1) throw new OperationError('the file has another name too');
    if (size === 0 && (mode & 0o777) !== 0o600) await handle.chmod(0o600);
    const lines = Buffer.from(`${(await needsNewline(handle, size)) ? '\n' : ''}${json.join('')}`);
    await writeAll(handle, lines);
    if (sync) await handle.sync();
  } catch (error) {
    throw new FileError('append to', path, error);
  } finally {
    await handle?.close();
  }
}

/** A disk that took only a part of it says why with the next write: callers have to know a full one (ENOSPC). */
async function writeAll(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, done);
    if (bytesWritten === 0) throw new OperationError('the disk takes no more of it');
    done += bytesWritten;
  }
}

async function needsNewline(handle: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false;
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  return bytesRead === 1 && buffer[0] !== LF;
}
