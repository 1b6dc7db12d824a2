/**
 * A socket that answers JSON lines: one request a line, one answer a line, and notices for those that watch (J9, R6).
 * Whatever comes over it, its process stays up. What is asked and answered is its user's.
 */
import { chmodSync, lstatSync, unlinkSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { makeStateDirectory } from './atomic-file.ts';
import { hasCode, messageOf } from './errors.ts';
import { FileError } from './file-error.ts';
import { jsonLineReader } from './json-line-reader.ts';
import { type SocketPlace, socketPath, throughSocketPath } from './socket-path.ts';

/** More at once are sent away. */
const MAX_CONNECTIONS = 64;
/** A connection that asks nothing for so long is closed; one that waits for its answer, or watches, is not. */
const IDLE_MS = 30_000;
/** So long those that were answered last may take to read it. */
const FAREWELL_MS = 1_000;

/** Why a line got no answer of its own. */
export type LineRefusal = 'bad-request' | 'too-long' | 'failed';

export interface LineServer<Notice> {
  /** To every connection that watches. */
  notify(notice: Notice): void;
  /** Nobody finds the socket any more; those that are connected are still served. The lock beside it must still be held. */
  retire(): void;
  /** Ends every connection, when what was written to it is read or after a second. */
  close(): Promise<void>;
}

export interface LineServerOptions<Request, Answer, Notice> {
  readonly place: SocketPlace;
  /** Of one line; who lets more than this wait unread is let go. */
  readonly maxLineBytes: number;
  /** Of the requests, for those that speak another one. */
  readonly version: number;
  /** Undefined for what is no request. */
  readonly parse: (value: unknown) => Request | undefined;
  /** Answers a request. What it throws becomes an answer that says so. */
  readonly handle: (request: Request) => Promise<Answer>;
  readonly refuse: (code: LineRefusal, message: string) => Answer;
  /** It is the last request of its connection, which hears of everything from then on. */
  readonly watches: (request: Request) => boolean;
  /** The first notices of one that begins to watch. */
  readonly greeting: () => readonly Notice[];
  readonly idleMs?: number | undefined;
}

/**
 * Listens. A socket that lies there already is a dead process's: whoever calls this holds the lock that says so.
 *
 * @throws FileError when it cannot be bound
 */
export async function openLineServer<Request, Answer, Notice>(
  options: LineServerOptions<Request, Answer, Notice>,
): Promise<LineServer<Notice>> {
  const { place, maxLineBytes, refuse } = options;
  const path = socketPath(place);
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
      say(socket, refuse('failed', `${MAX_CONNECTIONS} are connected already`), maxLineBytes);
      socket.destroySoon();
      return;
    }
    converse(socket, options, () => watching.add(socket)).then(
      () => socket.end(),
      () => socket.destroy(),
    );
  });
  await makeStateDirectory(place.directory);
  await bind(server, place, path);
  const own = inode(path);
  const closed = new Promise<void>((resolve) => server.once('close', resolve));
  return {
    notify(notice) {
      for (const socket of watching) say(socket, notice, maxLineBytes);
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

async function bind(server: Server, place: SocketPlace, path: string): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('listening', resolve);
      server.once('error', reject);
      throughSocketPath(place, (short) => {
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

async function converse<Request, Answer, Notice>(
  socket: Socket,
  options: LineServerOptions<Request, Answer, Notice>,
  watch: () => void,
): Promise<void> {
  const { maxLineBytes, parse, refuse, watches, greeting, idleMs = IDLE_MS } = options;
  const reader = jsonLineReader({ maxLineBytes });
  let isWatching = false;
  socket.on('timeout', () => socket.destroy());
  socket.setTimeout(idleMs);
  // Reads on only when what came is answered: a flood waits in the sender's own buffers.
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    // One that watches asks nothing more; only its end matters.
    if (isWatching) continue;
    for (const line of reader.push(chunk)) {
      if (socket.destroyed) return;
      socket.setTimeout(0);
      if (line.kind === 'problem') {
        const code = line.reason.startsWith('longer') ? 'too-long' : 'bad-request';
        say(socket, refuse(code, line.reason), maxLineBytes);
        socket.setTimeout(idleMs);
        continue;
      }
      const request = parse(line.value);
      say(socket, await answerTo(request, options), maxLineBytes);
      if (request !== undefined && watches(request)) {
        isWatching = true;
        for (const notice of greeting()) say(socket, notice, maxLineBytes);
        watch();
        break;
      }
      socket.setTimeout(idleMs);
    }
  }
}

async function answerTo<Request, Answer, Notice>(
  request: Request | undefined,
  { handle, refuse, version }: LineServerOptions<Request, Answer, Notice>,
): Promise<Answer> {
  if (request === undefined) return refuse('bad-request', `no request of version ${version}`);
  try {
    return await handle(request);
  } catch (error) {
    return refuse('failed', messageOf(error));
  }
}

function say(socket: Socket, value: unknown, maxUnreadBytes: number): void {
  if (socket.destroyed || !socket.writable) return;
  if (socket.writableLength > maxUnreadBytes) socket.destroy();
  else socket.write(`${JSON.stringify(value)}\n`);
}
