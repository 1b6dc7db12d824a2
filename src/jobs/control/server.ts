/** The socket a runner listens on (J9). Whatever comes over it, the runner stays up. */
import { chmodSync, lstatSync, unlinkSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { makeStateDirectory } from '../../lib/atomic-file.ts';
import { hasCode, messageOf } from '../../lib/errors.ts';
import { FileError } from '../../lib/file-error.ts';
import { type JsonLine, jsonLineReader } from '../../lib/json-line-reader.ts';
import { type JobDirectory, type JobsPlace, socketDirectory } from '../places.ts';
import {
  type ControlAnswer,
  type ControlErrorCode,
  type ControlRequest,
  MAX_LINE_BYTES,
  type Notice,
  PROTOCOL_VERSION,
  parseRequest,
} from './protocol.ts';
import { socketFile, withSocketPath } from './socket-path.ts';

/** More at once are sent away. */
const MAX_CONNECTIONS = 64;
/** Who reads so slowly that more than this waits for it is let go. */
const MAX_UNREAD_BYTES = MAX_LINE_BYTES;
/** A connection that asks nothing for so long is closed; one that waits for its answer, or watches, is not. */
const IDLE_MS = 30_000;
/** So long those that were answered last may take to read it. */
const FAREWELL_MS = 1_000;

/** Answers a request. What it throws becomes an answer that says so. */
export type RequestHandler = (request: ControlRequest) => Promise<ControlAnswer>;

export interface ControlServer {
  /** To every connection that watches. */
  notify(notice: Notice): void;
  /** Nobody finds the socket any more; those that are connected are still served. The job's lock must still be held. */
  retire(): void;
  /** Ends every connection, when what was written to it is read or after a second. */
  close(): Promise<void>;
}

export interface ControlServerOptions {
  readonly place: JobsPlace;
  readonly directory: JobDirectory;
  readonly handle: RequestHandler;
  /** The first notices of one that begins to watch. */
  readonly greeting: () => readonly Notice[];
  readonly idleMs?: number;
}

/**
 * Listens on the job's socket. One that lies there already is a dead runner's, for this one holds the job's lock.
 *
 * @throws FileError when it cannot be bound
 */
export async function openControlServer(options: ControlServerOptions): Promise<ControlServer> {
  const { place, directory } = options;
  const path = socketFile(place, directory);
  const open = new Set<Socket>();
  const watching = new Set<Socket>();
  // One that has said all it wants may still read its answer.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket);
    socket.on('close', () => {
      open.delete(socket);
      watching.delete(socket);
    });
    // One that goes away in the middle is its own affair.
    socket.on('error', () => socket.destroy());
    if (open.size > MAX_CONNECTIONS) {
      say(socket, problem('failed', `${MAX_CONNECTIONS} are connected already`));
      socket.destroySoon();
      return;
    }
    converse(socket, options, () => watching.add(socket)).then(
      () => socket.end(),
      () => socket.destroy(),
    );
  });
  await makeStateDirectory(socketDirectory(place));
  await bind(server, options, path);
  const own = inode(path);
  const closed = new Promise<void>((resolve) => server.once('close', resolve));
  return {
    notify(notice) {
      for (const socket of watching) say(socket, notice);
    },
    retire() {
      // Takes the socket's name away too, in most cases.
      server.close();
      if (own !== undefined && inode(path) === own) removeOld(path);
    },
    async close() {
      server.close();
      const late = setTimeout(() => {
        for (const socket of open) socket.destroy();
      }, FAREWELL_MS);
      for (const socket of open) socket.end();
      await closed;
      clearTimeout(late);
    },
  };
}

function inode(path: string): number | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.ino;
}

async function bind(server: Server, { place, directory }: ControlServerOptions, path: string): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('listening', resolve);
      server.once('error', reject);
      withSocketPath(place, directory, (short) => {
        removeOld(short);
        server.listen(short);
      });
    });
    chmodSync(path, 0o600);
  } catch (error) {
    throw error instanceof FileError ? error : new FileError('listen on', path, error);
  }
  server.on('error', () => {});
}

function removeOld(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}

async function converse(
  socket: Socket,
  { handle, greeting, idleMs = IDLE_MS }: ControlServerOptions,
  watch: () => void,
): Promise<void> {
  const reader = jsonLineReader({ maxLineBytes: MAX_LINE_BYTES });
  let watches = false;
  socket.on('timeout', () => socket.destroy());
  socket.setTimeout(idleMs);
  // Reads on only when what came is answered: a flood waits in the sender's own buffers.
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    // One that watches asks nothing more; only its end matters.
    if (watches) continue;
    for (const line of reader.push(chunk)) {
      if (socket.destroyed) return;
      const request = line.kind === 'entry' ? parseRequest(line.value) : line;
      socket.setTimeout(0);
      say(socket, await answerTo(request, handle));
      if (request !== undefined && 'op' in request && request.op === 'watch') {
        watches = true;
        for (const notice of greeting()) say(socket, notice);
        watch();
        break;
      }
      socket.setTimeout(idleMs);
    }
  }
}

async function answerTo(
  request: ControlRequest | Extract<JsonLine, { kind: 'problem' }> | undefined,
  handle: RequestHandler,
): Promise<ControlAnswer> {
  if (request === undefined) return problem('bad-request', `no request of version ${PROTOCOL_VERSION}`);
  if ('kind' in request) {
    const code = request.reason.startsWith('longer') ? 'too-long' : 'bad-request';
    return problem(code, request.reason);
  }
  try {
    return await handle(request);
  } catch (error) {
    return problem('failed', messageOf(error));
  }
}

export function problem(code: ControlErrorCode, message: string): ControlAnswer {
  return { ok: false, error: { code, message } };
}

function say(socket: Socket, value: ControlAnswer | Notice): void {
  if (socket.destroyed || !socket.writable) return;
  if (socket.writableLength > MAX_UNREAD_BYTES) socket.destroy();
  else socket.write(`${JSON.stringify(value)}\n`);
}
