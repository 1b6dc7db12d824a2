import { type FSWatcher, watch } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { openRegularFile } from '../lib/bounded-read.ts';
import type { FrameConnection, LogsRequest } from '../wire/index.ts';
import { answer, finish, refusal } from './replies.ts';

/** More than this of a log is never read back at once; the log itself is rotated below it. */
const MAX_TAIL_BYTES = 2 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;

interface Tail {
  text: string;
  /** Up to where the file was read. */
  size: number;
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
    if (path !== undefined) tail = await withFile(path, (file) => readTail(file, request.tail));
  } catch (error) {
    // A program of the sandbox has put something else in the log's place.
    return answer(connection, refusal(error));
  }
  connection.send({ type: 'reply', value: { answer: 'accepted' } });
  if (tail !== undefined && tail.text !== '') {
    if (!connection.send({ type: 'data', bytes: Buffer.from(tail.text) })) await connection.drained();
  }
  if (path !== undefined && changes !== undefined) await follow(connection, path, tail?.size ?? 0, changes);
  connection.send({ type: 'exited', value: { code: 0, signal: null } });
  await finish(connection);
}

async function follow(
  connection: FrameConnection,
  path: string,
  start: number,
  changes: AsyncGenerator<void>,
): Promise<void> {
  let at = start;
  for await (const _change of changes) {
    at =
      (await withFile(path, async (file) => {
        const { size } = await file.stat();
        // Smaller than before: the log was rotated, and this is the new one.
        return sendRange(connection, file, size < at ? 0 : at, size);
      })) ?? 0;
  }
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

/** The last `lines` whole lines, and the size up to which the file was read. */
async function readTail(file: FileHandle, lines: number): Promise<Tail> {
  const { size } = await file.stat();
  const length = Math.min(size, MAX_TAIL_BYTES);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
  const all = buffer.subarray(0, bytesRead).toString('utf8').split('\n');
  // The first of a cut file is a part of a line only; after the last newline there is nothing, or a torn line.
  const whole = (length < size ? all.slice(1) : all).filter(Boolean);
  const text =
    lines === 0
      ? ''
      : whole
          .slice(-lines)
          .map((line) => `${line}\n`)
          .join('');
  return { text, size };
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
