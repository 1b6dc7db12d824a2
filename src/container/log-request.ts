import { type FSWatcher, watch } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { openRegularFile } from '../lib/bounded-read.ts';
import type { FrameConnection, LogsRequest } from '../wire/index.ts';
import { answer, finish, refusal } from './replies.ts';

/** More than this of a log is never read back at once; the log itself is rotated below it. */
const MAX_TAIL_BYTES = 2 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;

/** Up to where which file was read. */
interface Place {
  inode: number;
  at: number;
}

interface Tail extends Place {
  text: string;
}

/** Sends the end of the supervisor's log, and with `follow` what is added to it for as long as the client stays. */
export async function sendLogs(
  connection: FrameConnection,
  path: string | undefined,
  request: LogsRequest,
): Promise<void> {
  connection.onFrame(() => undefined);
  // Watched before the tail is read, and that before we say yes, so that no line is missed or told twice.
  const changes = path !== undefined && request.follow ? watchFile(path, connection.closed) : undefined;
  let tail: Tail | undefined;
  try {
    if (path !== undefined) tail = await readTail(path, request.tail);
  } catch (error) {
    // A program of the sandbox has put something else in the log's place.
    return answer(connection, refusal(error));
  }
  connection.send({ type: 'reply', value: { answer: 'accepted' } });
  if (tail !== undefined && tail.text !== '') {
    if (!connection.send({ type: 'data', bytes: Buffer.from(tail.text) })) await connection.drained();
  }
  if (path !== undefined && changes !== undefined) await follow(connection, path, tail, changes);
  connection.send({ type: 'exited', value: { code: 0, signal: null } });
  await finish(connection);
}

async function follow(
  connection: FrameConnection,
  path: string,
  start: Place | undefined,
  changes: AsyncGenerator<void>,
): Promise<void> {
  let place = start;
  for await (const _change of changes) {
    const before = place;
    place = await withFile(path, async (file) => {
      const { size, ino } = await file.stat();
      if (before !== undefined && before.inode !== ino) await sendRotated(connection, path, before);
      const from = before?.inode === ino && before.at <= size ? before.at : 0;
      return { inode: ino, at: await sendRange(connection, file, from, size) };
    });
    // Between a rotation and the first line after it there is no file.
    place ??= before;
  }
}

/** What was still added to the log before it was rotated. */
async function sendRotated(connection: FrameConnection, path: string, before: Place): Promise<void> {
  await withFile(rotated(path), async (file) => {
    const { size, ino } = await file.stat();
    if (ino === before.inode) await sendRange(connection, file, before.at, size);
  });
}

/** Yields once for any number of changes since the last time, until `over` settles. */
async function* watchFile(path: string, over: Promise<unknown>): AsyncGenerator<void> {
  let wake = Promise.withResolvers<boolean>();
  const watcher: FSWatcher = watch(dirname(path), { persistent: false }, (_event, name) => {
    if (name === basename(path)) wake.resolve(true);
  });
  watcher.on('error', () => wake.resolve(false));
  const ended = over.then(() => false);
  try {
    // The first look is for what came between the tail and the watch.
    yield;
    while (await Promise.race([wake.promise, ended])) {
      wake = Promise.withResolvers<boolean>();
      yield;
    }
  } finally {
    watcher.close();
  }
}

async function withFile<T>(path: string, work: (file: FileHandle) => Promise<T>): Promise<T | undefined> {
  const file = await openRegularFile(path);
  if (file === undefined) return undefined;
  try {
    return await work(file);
  } finally {
    await file.close();
  }
}

function rotated(path: string): string {
  return `${path}.1`;
}

/** The last `lines` whole lines, of the rotated part too where the log itself has fewer, and up to where it was read. */
async function readTail(path: string, lines: number): Promise<Tail | undefined> {
  const now = await withFile(path, (file) => readLines(file, MAX_TAIL_BYTES));
  const missing = lines - (now?.lines.length ?? 0);
  const room = MAX_TAIL_BYTES - (now?.bytes ?? 0);
  const older =
    missing > 0 && room > 0 ? await withFile(rotated(path), (file) => readLines(file, room)) : undefined;
  if (now === undefined && older === undefined) return undefined;
  // Rotated between the two looks: what was read as the log is the rotated part now.
  const before = older === undefined || older.inode === now?.inode ? [] : older.lines;
  const all = [...before, ...(now?.lines ?? [])];
  const text =
    lines === 0
      ? ''
      : all
          .slice(-lines)
          .map((line) => `${line}\n`)
          .join('');
  return { text, inode: now?.inode ?? 0, at: now?.size ?? 0 };
}

/** The whole lines in the last `most` bytes of a file. */
async function readLines(file: FileHandle, most: number) {
  const { size, ino: inode } = await file.stat();
  const length = Math.min(size, most);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
  const all = buffer.subarray(0, bytesRead).toString('utf8').split('\n');
  // The first of a cut file is a part of a line only; after the last newline there is nothing, or a torn line.
  const lines = (length < size ? all.slice(1) : all).filter(Boolean);
  return { lines, bytes: bytesRead, size, inode };
}

async function sendRange(
  connection: FrameConnection,
  file: FileHandle,
  from: number,
  to: number,
): Promise<number> {
  let at = from;
  while (at < to) {
    const length = Math.min(CHUNK_BYTES, to - at);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at);
    if (bytesRead === 0) break;
    at += bytesRead;
    if (!connection.send({ type: 'data', bytes: buffer.subarray(0, bytesRead) })) await connection.drained();
  }
  return at;
}
