import { type FSWatcher, watch } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { openRegularFile } from '../lib/bounded-read.ts';
import type { FrameConnection, LogsRequest } from '../wire/index.ts';
import { finish } from './replies.ts';

/** More than this of a log is never read back at once; the log itself is rotated below it. */
const MAX_TAIL_BYTES = 2 * 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;

/** Sends the end of the supervisor's log, and with `follow` what is added to it for as long as the client stays. */
export async function sendLogs(
  connection: FrameConnection,
  path: string | undefined,
  request: LogsRequest,
): Promise<void> {
  connection.send({ type: 'reply', value: { answer: 'accepted' } });
  connection.onFrame(() => undefined);
  if (path !== undefined) {
    // Watched before the tail is read, so that a line written in between is not missed.
    const changes = request.follow ? watchFile(path, connection.closed) : undefined;
    const at = await withFile(path, (file) => sendTail(connection, file, request.tail));
    if (changes !== undefined) await follow(connection, path, at ?? 0, changes);
  }
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

/** Sends the last `lines` whole lines and returns the size up to which the file was read. */
async function sendTail(connection: FrameConnection, file: FileHandle, lines: number): Promise<number> {
  const { size } = await file.stat();
  const from = Math.max(0, size - MAX_TAIL_BYTES);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
  const all = buffer.subarray(0, bytesRead).toString('utf8').split('\n');
  // The first of a cut file is a part of a line only; after the last newline there is nothing, or a torn line.
  const whole = (from > 0 ? all.slice(1) : all).filter(Boolean);
  const text =
    lines === 0
      ? ''
      : whole
          .slice(-lines)
          .map((line) => `${line}\n`)
          .join('');
  if (text !== '' && !connection.send({ type: 'data', bytes: Buffer.from(text) })) await connection.drained();
  return size;
}

async function sendRange(
  connection: FrameConnection,
  file: FileHandle,
  from: number,
  to: number,
): Promise<number> {
  let at = from;
  while (at < to) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(CHUNK_BYTES, to - at)), 0, null, at);
    if (bytesRead === 0) break;
    at += bytesRead;
    if (!connection.send({ type: 'data', bytes: buffer.subarray(0, bytesRead) })) await connection.drained();
  }
  return at;
}
