import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Duplex, PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { relaySocket } from '../../../src/agent-dir/index.ts';
import { listeners } from '../../../src/container/relay/listeners.ts';
import { Relays } from '../../../src/container/relay/relays.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { Channels, FrameConnection, type RelayService } from '../../../src/wire/index.ts';

let runtime = '';
const notes: string[] = [];
const cleanups: Array<() => unknown> = [];
beforeEach(() => {
  runtime = mkdtempSync(join(tmpdir(), 'relays-'));
  notes.length = 0;
});
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
  rmSync(runtime, { recursive: true });
});

function relays(waitMs = 2_000): Relays {
  const made = new Relays({
    runtime,
    clock: systemClock,
    note: (event, facts) => notes.push(`${event} ${JSON.stringify(facts)}`),
    waitMs,
  });
  cleanups.push(() => made.close());
  return made;
}

/** The host's end of a relay; `serve` answers what the sandbox's programs ask for. */
function host(relays: Relays, services: RelayService[], serve: () => Duplex = nothing) {
  const [there, back] = [new PassThrough(), new PassThrough()];
  const client = new FrameConnection({ input: back, output: there });
  const server = new FrameConnection({ input: there, output: back });
  cleanups.push(() => client.destroy());
  void relays.serve(server, { verb: 'relay', kind: services.length > 0 ? 'services' : 'forward', services });
  return { channels: new Channels(client, { side: 'host', accept: async () => serve() }), client };
}

function nothing(): Duplex {
  throw new Error('nothing is served here');
}

async function ask(service: RelayService, question: string): Promise<string> {
  const socket = connect({ path: relaySocket(runtime, service), allowHalfOpen: true });
  socket.on('error', () => undefined);
  socket.end(question);
  return text(socket);
}

async function listen(answer: string, host = '127.0.0.1'): Promise<number> {
  const server = createServer((socket: Socket) => socket.end(answer));
  server.listen(0, host);
  await once(server, 'listening');
  cleanups.push(() => server.close());
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

describe('relays', () => {
  it('S14: a channel of the host reaches a listener in the sandbox, on either loopback address', async () => {
    const { channels } = host(relays(), []);
    for (const address of ['127.0.0.1', '::1']) {
      const port = await listen(`hello from ${address}`, address);
      expect(await text(await channels.open({ to: 'port', port }))).toBe(`hello from ${address}`);
    }
  });

  it('S14: a port that nothing listens on is refused by name', async () => {
    const { channels } = host(relays(), []);
    await expect(channels.open({ to: 'port', port: 1 })).rejects.toThrow(
      'nothing listens on port 1 in the sandbox',
    );
  });

  it('S10: a program in the sandbox reaches the service through the newest relay, by a socket of its own user only', async () => {
    const made = relays();
    const echo = (): Duplex => new PassThrough();
    host(made, ['ssh-agent'], nothing);
    host(made, ['ssh-agent'], echo);
    await sleep(20);
    expect(await ask('ssh-agent', 'who is there')).toBe('who is there');
    expect(statSync(relaySocket(runtime, 'ssh-agent')).mode & 0o777).toBe(0o600);
  });

  it('S10: one that asks while the relay reconnects waits for it; one that nobody answers is let go and said so', async () => {
    const made = relays(300);
    await made.offer(['git-credentials']);
    const early = ask('git-credentials', 'question');
    await sleep(50);
    const first = host(made, ['git-credentials'], () => new PassThrough());
    expect(await early).toBe('question');
    first.client.destroy();
    await sleep(20);
    expect(await ask('git-credentials', 'question')).toBe('');
    expect(notes.at(-1)).toContain("nothing on the user's machine answers for git-credentials");
  });

  it('S10: a host without the service, and a service of the sandbox, are not reached', async () => {
    const made = relays(100);
    const { channels } = host(made, ['ssh-agent'], () => new PassThrough());
    await made.offer(['git-credentials']);
    expect(await ask('git-credentials', 'question')).toBe('');
    await expect(channels.open({ to: 'service', service: 'ssh-agent' })).rejects.toThrow('no such service');
  });

  it('S10: programs find what is offered, and git nothing that files name', async () => {
    const made = relays();
    expect(made.environment()).toEqual({});
    await made.offer(['ssh-agent', 'git-credentials']);
    expect(made.environment()).toMatchObject({
      SSH_AUTH_SOCK: relaySocket(runtime, 'ssh-agent'),
      GIT_CONFIG_VALUE_0: '',
    });
  });
});

describe('listeners', () => {
  it('S14: are listed by port, with address and process', async () => {
    const [four, six] = [await listen('', '127.0.0.1'), await listen('', '::1')];
    const found = listeners();
    expect(found).toContainEqual(
      expect.objectContaining({ port: four, address: '127.0.0.1', pid: process.pid }),
    );
    expect(found).toContainEqual(expect.objectContaining({ port: six, address: '::1', pid: process.pid }));
    expect(found.map(({ port }) => port)).toEqual(found.map(({ port }) => port).sort((a, b) => a - b));
  });
});
