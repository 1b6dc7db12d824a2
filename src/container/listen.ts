import { randomBytes, timingSafeEqual } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { pathsOf, type Roots } from '../agent-dir/index.ts';
import { FrameConnection, type Hello, type OpenRequest, PROTOCOL } from '../wire/index.ts';

/** A peer that says nothing for this long after connecting is let go (rule 7). */
const GREETING_MS = 30_000;

/** Called with each request whose sender has shown that it may ask. */
export type Serve = (connection: FrameConnection, request: OpenRequest) => Promise<void>;

/**
 * Listens on the supervisor's socket: 0600 in a 0700 directory, and the first frame carries the token of a 0600 file
 * beside it (H2). The path is well below the 100 bytes that every system allows for a socket.
 */
export async function listen(roots: Roots, version: string, serve: Serve): Promise<void> {
  const { socket, socketDirectory, token: tokenPath } = pathsOf(roots);
  mkdirSync(socketDirectory, { recursive: true, mode: 0o700 });
  const token = randomBytes(32).toString('hex');
  writeFileSync(tokenPath, `${token}\n`, { mode: 0o600 });
  // Half-open: a client that has sent its last input still reads the output.
  const server = createServer({ allowHalfOpen: true }, (peer: Socket) => {
    const connection = new FrameConnection(peer);
    void greet(connection, version, token, serve);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socket, resolve);
  });
  chmodSync(socket, 0o600);
}

/**
 * Greets a peer and reads its one request. `token` is undefined on the container's own standard input: whoever holds
 * that end has made the container.
 */
export async function greet(
  connection: FrameConnection,
  version: string,
  token: string | undefined,
  serve: Serve,
): Promise<void> {
  const timer = setTimeout(() => connection.destroy(), GREETING_MS);
  connection.send({ type: 'hello', value: { protocol: PROTOCOL, version } });
  const hello = await connection.read();
  const problem = hello?.type === 'hello' ? refuseHello(hello.value, token) : 'the first frame must be hello';
  if (hello === undefined) return clearTimeout(timer);
  if (problem !== undefined) {
    clearTimeout(timer);
    connection.send({ type: 'reply', value: { answer: 'refused', message: problem, exitCode: 1 } });
    return void connection.end();
  }
  const open = await connection.read();
  clearTimeout(timer);
  if (open?.type === 'open') await serve(connection, open.value);
  else connection.destroy();
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
