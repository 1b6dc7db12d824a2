import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { createTransport } from '../../../src/engine/transport.ts';
import { temporaryDirectory } from '../lib/temporary.ts';

it('S19: an engine that is found mute by one call is so for all that wait for it, and none asks again', async () => {
  const path = join(temporaryDirectory(), 'engine.sock');
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on('error', () => {})));
  await once(server.listen(path), 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const transport = await createTransport({ kind: 'unix', socketPath: path }, 'test', 200);
  const first = transport.call({ method: 'GET', path: '/one' });
  await sleep(100);
  const second = transport.call({ method: 'GET', path: '/two' });
  const mute = 'accepts connections but did not answer';
  await Promise.all([expect(first).rejects.toThrow(mute), expect(second).rejects.toThrow(mute)]);
  const asked = sockets.size;
  await sleep(300);
  expect(sockets.size).toBe(asked);
});
