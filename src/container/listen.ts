import { randomBytes, timingSafeEqual } from 'node:crypto';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { pathsOf, type Roots } from '../agent-dir/index.ts';
import { messageOf } from '../lib/errors.ts';
import { FrameConnection, type Hello, type OpenRequest, PROTOCOL } from '../wire/index.ts';
import { answer } from './replies.ts';

/** A peer that has not made its request this long after connecting is let go (rule 7). */
export const GREETING_MS = 30_000;
/** More connections at once are refused: each Session, job and client has one (rule 7). */
const MAX_CONNECTIONS = 4_096;

/** Called with each request whose sender has shown that it may ask. */
export type Serve = (connection: FrameConnection, request: OpenRequest) => Promise<void>;

export interface Greeting {
  version: string;
  /** Undefined on the container's own standard input: whoever holds that end has made the container. */
  token: string | undefined;
  greetingMs: number;
  serve: Serve;
  /** A request that failed in a way nobody foresaw; its connection is gone, the sandbox goes on. */
  onError: (message: string) => void;
}

/**
 * Listens on the supervisor's socket: 0600 in a 0700 directory, and the first frame carries the token of a 0600 file
 * beside it (H2). The path is well below the 100 bytes that every system allows for a socket.
 */
export async function listen(roots: Roots, greeting: Omit<Greeting, 'token'>): Promise<void> {
  const { socket, socketDirectory, token: tokenPath } = pathsOf(roots);
  mkdirSync(socketDirectory, { recursive: true, mode: 0o700 });
  chmodSync(socketDirectory, 0o700);
  const token = randomBytes(32).toString('hex');
  writeFileSync(tokenPath, `${token}\n`, { mode: 0o600 });
  // Half-open: a client that has sent its last input still reads the output.
  const server = createServer({ allowHalfOpen: true }, (peer: Socket) => {
    void greet(new FrameConnection(peer), { ...greeting, token });
  });
  server.maxConnections = MAX_CONNECTIONS;
  // Of a supervisor that was here before, in a container that was started again.
  rmSync(socket, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socket, resolve);
  });
  server.on('error', (error) => greeting.onError(messageOf(error)));
  chmodSync(socket, 0o600);
}

/** Greets a peer, reads its one request and serves it. Never rejects. */
export async function greet(connection: FrameConnection, greeting: Greeting): Promise<void> {
  try {
    const request = await readRequest(connection, greeting);
    if (request !== undefined) await greeting.serve(connection, request);
  } catch (error) {
    greeting.onError(messageOf(error));
    connection.destroy();
  }
}

async function readRequest(
  connection: FrameConnection,
  { version, token, greetingMs }: Greeting,
): Promise<OpenRequest | undefined> {
  const timer = setTimeout(() => connection.destroy(), greetingMs);
  try {
    connection.send({ type: 'hello', value: { protocol: PROTOCOL, version } });
    const hello = await connection.read();
    if (hello === undefined) return undefined;
    const problem =
      hello.type === 'hello' ? refuseHello(hello.value, token) : 'the first frame must be hello';
    if (problem !== undefined) {
      await answer(connection, { answer: 'refused', message: problem, exitCode: 1 });
      return undefined;
    }
    const open = await connection.read();
    if (open === undefined || open.type === 'open') return open?.value;
    await answer(connection, {
      answer: 'refused',
      message: 'the second frame must be a request',
      exitCode: 1,
    });
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

function refuseHello(hello: Hello, token: string | undefined): string | undefined {
  if (hello.protocol !== PROTOCOL) {
    return `this sandbox speaks protocol ${PROTOCOL}, the command (version ${hello.version}) speaks ${hello.protocol}: pi-sandbox stop, then start again`;
  }
  if (token === undefined) return undefined;
  const given = Buffer.from(hello.token ?? '');
  const right = Buffer.from(token);
  return given.length === right.length && timingSafeEqual(given, right) ? undefined : 'wrong token';
}
