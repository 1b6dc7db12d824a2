import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { isOwnPeer, peerOwner } from '../../../src/cli/sandbox/local-peer.ts';

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

describe('S14: whose the far end is, by the kernel’s table', () => {
  /** A table with one row, as the process on the far end has it. */
  const table = (local: string, remote: string, inode = 4711): string =>
    `  sl  local_address rem_address   st\n   0: ${local} ${remote} 01 00000000:00000000 00:00000000 00000000  1001        0 ${inode} 1\n`;
  const four = { own: { address: '127.0.0.1', port: 3000 }, peer: { address: '127.0.0.1', port: 54_321 } };
  const six = { own: { address: '::1', port: 3000 }, peer: { address: '::1', port: 54_321 } };
  const LOOPBACK_6 = '00000000000000000000000001000000';
  const MAPPED = '0000000000000000FFFF00000100007F';

  it.each([
    ['IPv4', table('0100007F:D431', '0100007F:0BB8'), four],
    ['IPv6', table(`${LOOPBACK_6}:D431`, `${LOOPBACK_6}:0BB8`), six],
    ['an IPv6 socket to an IPv4 address', table(`${MAPPED}:D431`, `${MAPPED}:0BB8`), four],
    [
      'an IPv4 connection taken by an IPv6 socket',
      table('0100007F:D431', '0100007F:0BB8'),
      {
        own: { address: '::ffff:127.0.0.1', port: 3000 },
        peer: { address: '::ffff:127.0.0.1', port: 54_321 },
      },
    ],
  ])('S14: %s', (_, text, connection) => {
    expect(peerOwner(text, connection)).toBe(1001);
  });

  it.each([
    ['to another address with the same port', table('0100007F:D431', '0200007F:0BB8')],
    ['from another address with the same port', table('0200007F:D431', '0100007F:0BB8')],
    ['to another port', table('0100007F:D431', '0100007F:0BB9')],
    ['from another port', table('0100007F:D432', '0100007F:0BB8')],
    ['our own end of it', table('0100007F:0BB8', '0100007F:D431')],
    ['an IPv6 address that ends alike', table(`${LOOPBACK_6.slice(0, 24)}0100007F:D431`, `${MAPPED}:0BB8`)],
    ['one that no process has open', table('0100007F:D431', '0100007F:0BB8', 0)],
  ])('S14: a connection %s is not it', (_, text) => {
    expect(peerOwner(text, four)).toBeUndefined();
  });
});
