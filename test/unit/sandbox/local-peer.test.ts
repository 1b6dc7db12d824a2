import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { isOwnPeer } from '../../../src/cli/sandbox/local-peer.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A connection of another process of ours, which goes on as `then` says. */
async function connection(then: string): Promise<Socket> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  const script = `const s = require('node:net').connect(${port}, '127.0.0.1', () => { s.write('POST'); ${then} });`;
  const client = spawn(process.execPath, ['-e', script]);
  const [socket]: Socket[] = await once(server, 'connection');
  if (socket === undefined) throw new Error('no connection');
  socket.once('close', () => client.kill());
  await sleep(500);
  return socket;
}

describe('S14: whose a connection to a forwarded port is', () => {
  it('S14: of a user who is allowed, while it is open', async () => {
    const socket = await connection('');
    expect(await isOwnPeer(socket, new Set([process.getuid?.() ?? 0]))).toBe(true);
    expect(await isOwnPeer(socket, new Set([54_321]))).toBe(false);
    socket.destroy();
  });

  it('S14: nobody’s, once its process let it go: the kernel then calls it root’s, whosever it was', async () => {
    const socket = await connection('setTimeout(() => process.exit(), 50)');
    expect(await isOwnPeer(socket, new Set([0]))).toBe(false);
    socket.destroy();
  });
});
