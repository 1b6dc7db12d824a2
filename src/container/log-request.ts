import { createReadStream, existsSync, statSync, watch } from 'node:fs';
import { dirname } from 'node:path';
import type { FrameConnection, LogsRequest } from '../wire/index.ts';

/** More than this of a log is never read back at once; the log itself is rotated below it. */
const MAX_TAIL_BYTES = 2 * 1024 * 1024;

/** Sends the end of the supervisor's log, and with `follow` what is added to it for as long as the client stays. */
export async function sendLogs(
  connection: FrameConnection,
  path: string | undefined,
  request: LogsRequest,
): Promise<void> {
  connection.send({ type: 'reply', value: { answer: 'accepted' } });
  connection.onFrame(() => undefined);
  let at = path === undefined ? 0 : await sendTail(connection, path, request.tail);
  if (path !== undefined && request.follow) {
    const watcher = watch(dirname(path), () => {
      const size = existsSync(path) ? statSync(path).size : 0;
      if (size < at) at = 0;
      if (size === at) return;
      const from = at;
      at = size;
      void sendRange(connection, path, from, size);
    });
    await connection.closed;
    watcher.close();
    return;
  }
  connection.send({ type: 'exited', value: { code: 0, signal: null } });
  await connection.end();
}

/** Sends the last `lines` lines and returns the size up to which the file was read. */
async function sendTail(connection: FrameConnection, path: string, lines: number): Promise<number> {
  const size = existsSync(path) ? statSync(path).size : 0;
  if (size === 0 || lines === 0) return size;
  const pieces: Buffer[] = [];
  for await (const piece of createReadStream(path, { start: Math.max(0, size - MAX_TAIL_BYTES), end: size - 1 })) {
    pieces.push(Buffer.from(piece));
  }
  const all = Buffer.concat(pieces).toString('utf8').split('\n').filter(Boolean);
  const text = all.slice(-lines).map((line) => `${line}\n`).join('');
  if (!connection.send({ type: 'data', bytes: Buffer.from(text) })) await connection.drained();
  return size;
}

async function sendRange(connection: FrameConnection, path: string, from: number, to: number): Promise<void> {
  for await (const piece of createReadStream(path, { start: from, end: to - 1 })) {
    if (!connection.send({ type: 'data', bytes: Buffer.from(piece) })) await connection.drained();
  }
}
