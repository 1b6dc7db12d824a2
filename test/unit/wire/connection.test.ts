import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { type Frame, FrameConnection, WireError } from '../../../src/wire/index.ts';

const cleanups: Array<() => unknown> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Both ends of a real Unix socket. */
async function socketPair(): Promise<[Socket, Socket]> {
  const directory = await mkdtemp(join(tmpdir(), 'wire-'));
  cleanups.push(() => rm(directory, { recursive: true }));
  const server = createServer({ allowHalfOpen: true });
  const path = join(directory, 's');
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
  const client = connect({ path, allowHalfOpen: true });
  const peer = await accepted;
  cleanups.push(() => {
    client.destroy();
    peer.destroy();
    server.close();
  });
  return [client, peer];
}

async function connectionPair(): Promise<[FrameConnection, FrameConnection]> {
  const [client, peer] = await socketPair();
  return [new FrameConnection(client), new FrameConnection(peer)];
}

const EXITED: Frame = { type: 'exited', value: { code: 0, signal: null } };

describe('a connection', () => {
  it('H2: carries frames both ways, in order', async () => {
    const [client, peer] = await connectionPair();
    client.send({ type: 'hello', value: { protocol: 1, version: 'a' } });
    client.send({ type: 'data', bytes: Buffer.from('one') });
    expect(await peer.read()).toEqual({ type: 'hello', value: { protocol: 1, version: 'a' } });
    peer.send({ type: 'ack', consumed: 3 });
    expect(await peer.read()).toEqual({ type: 'data', bytes: Buffer.from('one') });
    expect(await client.read()).toEqual({ type: 'ack', consumed: 3 });
  });

  it('S20: a peer that says it is through ends the connection cleanly', async () => {
    const [client, peer] = await connectionPair();
    const seen: string[] = [];
    client.onFrame((frame) => {
      seen.push(frame.type);
    });
    peer.onFrame(() => {});
    peer.send({ type: 'data', bytes: Buffer.alloc(200_000) });
    peer.send(EXITED);
    await peer.end();
    expect(await client.closed).toBe('clean');
    expect(seen).toEqual(['data', 'data', 'data', 'data', 'exited']);
  });

  it('S20: end() says bye, which the peer sees as a deliberate end', async () => {
    const [client, peer] = await connectionPair();
    peer.onFrame(() => {});
    client.onFrame(() => {});
    await client.end();
    expect(await peer.closed).toBe('clean');
    expect(await client.closed).toBe('clean');
  });

  it('S20: a stream that merely ends is a lost connection', async () => {
    const [client, raw] = await socketPair();
    const connection = new FrameConnection(client);
    connection.onFrame(() => {});
    raw.end(Buffer.from([4, 0, 0, 0, 1, 65]));
    expect(await connection.closed).toBe('lost');
  });

  it('S20: a stream that ends inside a frame is a lost connection', async () => {
    const [client, raw] = await socketPair();
    const connection = new FrameConnection(client);
    connection.onFrame(() => {});
    raw.end(Buffer.from([4, 0, 0, 0, 9, 65]));
    expect(await connection.closed).toBe('lost');
  });

  it('S20: a peer that is killed is a lost connection, on pipes too', async () => {
    const child = spawn('sleep', ['60'], { stdio: ['pipe', 'pipe', 'ignore'] });
    const connection = new FrameConnection({ input: child.stdout, output: child.stdin });
    connection.onFrame(() => {});
    child.kill('SIGKILL');
    expect(await connection.closed).toBe('lost');
  });

  it('H2: garbage ends the connection with the reason, after the frames before it', async () => {
    const [client, raw] = await socketPair();
    const connection = new FrameConnection(client);
    const seen: string[] = [];
    connection.onFrame((frame) => {
      seen.push(frame.type);
    });
    raw.on('error', () => {});
    raw.write(Buffer.from([6, 0, 0, 0, 0, 250, 1, 2, 3]));
    expect(await connection.closed).toBeInstanceOf(WireError);
    expect(seen).toEqual(['end-of-input']);
    expect(connection.open).toBe(false);
  });

  it('H2: a handler that refuses a frame ends the connection with its error', async () => {
    const [client, peer] = await connectionPair();
    peer.onFrame(() => {
      throw new WireError('unexpected data frame');
    });
    client.onFrame(() => {});
    client.send({ type: 'data', bytes: Buffer.from('x') });
    expect(await peer.closed).toMatchObject({ message: 'unexpected data frame' });
    expect(await client.closed).toBe('lost');
  });

  it('H2: a slow handler gets one frame at a time and holds the sender back', async () => {
    const [client, peer] = await connectionPair();
    let busy = 0;
    let handled = 0;
    peer.onFrame(async () => {
      expect(++busy).toBe(1);
      await sleep(1);
      busy--;
      handled++;
    });
    client.onFrame(() => {});
    const piece = Buffer.alloc(64 * 1024);
    let stalls = 0;
    for (let sent = 0; sent < 100; sent++) {
      if (!client.send({ type: 'data', bytes: piece })) {
        stalls++;
        await client.drained();
      }
    }
    await client.end();
    expect(await peer.closed).toBe('clean');
    expect(handled).toBe(101);
    expect(stalls).toBeGreaterThan(0);
  });

  it('rule 7: while a handler is busy, only what the streams buffer is taken from the peer', async () => {
    const [client, peer] = await connectionPair();
    peer.onFrame(() => new Promise(() => {}));
    client.onFrame(() => {});
    const piece = Buffer.alloc(64 * 1024);
    let sent = 0;
    let stalled = false;
    while (!stalled && sent < 400) {
      sent++;
      if (client.send({ type: 'data', bytes: piece })) continue;
      stalled = await Promise.race([client.drained().then(() => false), sleep(300).then(() => true)]);
    }
    expect(stalled).toBe(true);
    expect(sent).toBeLessThan(100);
  });

  it('H2: frames that wait before a malformed one are still handled after a pause', async () => {
    const [client, raw] = await socketPair();
    const connection = new FrameConnection(client);
    const seen: string[] = [];
    connection.onFrame((frame) => {
      seen.push(frame.type);
      connection.pause();
    });
    raw.on('error', () => {});
    raw.write(Buffer.from([6, 0, 0, 0, 0, 16, 0, 0, 0, 0, 250]));
    while (seen.length < 2) {
      await sleep(5);
      connection.resume();
    }
    connection.resume();
    expect(await connection.closed).toBeInstanceOf(WireError);
    expect(seen).toEqual(['end-of-input', 'bye']);
  });

  it('H2: a paused connection takes nothing from its peer until it is resumed', async () => {
    const [client, peer] = await connectionPair();
    let handled = 0;
    peer.onFrame(() => {
      handled++;
      if (handled === 1) peer.pause();
    });
    client.onFrame(() => {});
    const piece = Buffer.alloc(64 * 1024);
    let sent = 0;
    while (client.send({ type: 'data', bytes: piece })) sent++;
    await sleep(50);
    expect(handled).toBe(1);
    peer.resume();
    await client.end();
    expect(await peer.closed).toBe('clean');
    expect(handled).toBe(sent + 2);
  });

  it('S14: what the peer said last is heard although writing to it already fails', async () => {
    const input = new PassThrough();
    const output = new PassThrough();
    const connection = new FrameConnection({ input, output });
    const seen: string[] = [];
    connection.onFrame((frame) => {
      seen.push(frame.type);
    });
    output.destroy(new Error('EPIPE'));
    await sleep(20);
    expect(connection.send({ type: 'data', bytes: Buffer.from('late') })).toBe(false);
    await connection.drained();
    input.end(Buffer.concat([Buffer.from([14, 0, 0, 0, 24]), Buffer.from('{"code":3,"signal":null}')]));
    expect(await connection.closed).toBe('clean');
    expect(seen).toEqual(['exited']);
  });

  it('S20: a peer that can no longer be written to and says nothing more is lost, after a bound', async () => {
    const connection = new FrameConnection({ input: new PassThrough(), output: new PassThrough().destroy() });
    connection.onFrame(() => {});
    expect(await connection.closed).toBe('lost');
  });

  it('S14: whoever waits to send is let go when the connection ends', async () => {
    const [client, peer] = await connectionPair();
    client.onFrame(() => {});
    while (client.send({ type: 'data', bytes: Buffer.alloc(64 * 1024) }));
    const waiting = client.drained();
    peer.destroy();
    await waiting;
    expect(await client.closed).toBe('lost');
  });

  it('S14: 32 MB arrive byte for byte', async () => {
    const [client, peer] = await connectionPair();
    const pattern = Buffer.from(Array.from({ length: 65_521 }, (_, index) => index % 251));
    let received = 0;
    let wrong = 0;
    peer.onFrame((frame) => {
      if (frame.type !== 'data') return;
      if (Buffer.compare(frame.bytes, pattern) !== 0) wrong++;
      received += frame.bytes.length;
    });
    client.onFrame(() => {});
    for (let sent = 0; sent < 512; sent++) {
      if (!client.send({ type: 'data', bytes: pattern })) await client.drained();
    }
    await client.end();
    await peer.closed;
    expect({ received, wrong }).toEqual({ received: 512 * pattern.length, wrong: 0 });
  });
});
