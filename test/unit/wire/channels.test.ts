import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { Duplex, PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type ChannelEvent,
  Channels,
  type ChannelsOptions,
  encodeFrame,
  type Frame,
  FrameConnection,
  joinStreams,
} from '../../../src/wire/index.ts';

const cleanups: Array<() => unknown> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const PORT = { to: 'port', port: 80 } as const;
const refuseAll = async (): Promise<Duplex> => {
  throw new Error('nothing listens on port 80');
};

/** Two sides over real byte streams. */
function sides(
  accept: ChannelsOptions['accept'],
  answerMs?: number,
): { host: Channels; connections: FrameConnection[] } {
  const [there, back] = [new PassThrough(), new PassThrough()];
  const client = new FrameConnection({ input: back, output: there });
  const server = new FrameConnection({ input: there, output: back });
  cleanups.push(
    () => client.destroy(),
    () => server.destroy(),
  );
  new Channels(server, { side: 'sandbox', accept });
  const host = new Channels(client, {
    side: 'host',
    accept: refuseAll,
    ...(answerMs === undefined ? {} : { answerMs }),
  });
  return { host, connections: [client, server] };
}

async function tcpServer(serve: (socket: Socket) => void): Promise<number> {
  const sockets: Socket[] = [];
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

async function dial(port: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  return socket;
}

const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

describe('channels', () => {
  it('S14: carry 5 MB each way at the same time, byte for byte, and end one direction at a time', async () => {
    const port = await tcpServer((socket) => socket.pipe(socket));
    const { host } = sides(() => dial(port));
    const channel = await host.open(PORT);
    const sent = randomBytes(5_000_000);
    channel.end(sent);
    expect(hash(await buffer(channel))).toBe(hash(sent));
  });

  it('S14: a channel that nobody reads holds back itself and no other', async () => {
    const port = await tcpServer((socket) => {
      socket.write(randomBytes(3_000_000));
      socket.end();
    });
    const { host } = sides(() => dial(port));
    const idle = await host.open(PORT);
    const busy = await host.open(PORT);
    expect((await buffer(busy)).length).toBe(3_000_000);
    // Rule 7: what waits for the idle one is the window and not what the other side would like to send.
    expect(idle.readableLength).toBeLessThanOrEqual(256 * 1024);
    expect((await buffer(idle)).length).toBe(3_000_000);
  });

  it('S14: a refusal carries its reason', async () => {
    const { host } = sides(refuseAll);
    await expect(host.open(PORT)).rejects.toThrow('nothing listens on port 80');
  });

  it('S14: a writer into a channel nobody takes from waits instead of filling the memory', async () => {
    const stuck = new Duplex({ read: () => undefined, write: () => undefined });
    const { host } = sides(async () => stuck);
    const channel = await host.open(PORT);
    const piece = Buffer.alloc(64 * 1024);
    let written = 0;
    const drained = () => Promise.race([once(channel, 'drain'), sleep(200, 'stuck')]);
    while (written < 10_000_000 && (channel.write(piece) || (await drained()) !== 'stuck')) {
      written += piece.length;
    }
    // Rule 7: the window, and what the streams on the way hold.
    expect(written).toBeLessThan(1_000_000);
  });

  it('S14: the loss of the connection ends every channel, and no new one opens', async () => {
    const port = await tcpServer(() => undefined);
    const { host, connections } = sides(() => dial(port));
    const channel = await host.open(PORT);
    const closed = new Promise<void>((resolve) => channel.once('close', resolve));
    connections[1]?.destroy();
    await closed;
    await expect(host.open(PORT)).rejects.toThrow('gone');
  });

  it('S14: an end that dies without a word closes the other end', async () => {
    const port = await tcpServer((socket) => {
      socket.write('half an answ');
      setTimeout(() => socket.resetAndDestroy(), 30);
    });
    const { host } = sides(() => dial(port));
    const near = await tcpServer((socket) => {
      void host.open(PORT).then((channel) => joinStreams(channel, socket));
    });
    const socket = await dial(near);
    socket.on('error', () => undefined);
    socket.resume();
    await once(socket, 'end');
  });

  it('S14: more than 256 channels at once are refused', async () => {
    const { host } = sides(async () => new PassThrough());
    const opened = await Promise.all(Array.from({ length: 256 }, () => host.open(PORT)));
    await expect(host.open(PORT)).rejects.toThrow('more than 256');
    opened[0]?.destroy();
    await expect(host.open(PORT)).resolves.toBeDefined();
  });

  it('S14: a slow reader gets the whole answer of a program that closed long before', async () => {
    const port = await tcpServer((socket) => {
      socket.resume();
      socket.on('end', () => socket.end(randomBytes(200_000)));
    });
    const { host } = sides(() => dial(port));
    const channel = await host.open(PORT);
    channel.end('GET');
    await sleep(300);
    expect((await buffer(channel)).length).toBe(200_000);
  });

  it('S14: a channel that is closed while it is being connected leaves no connection behind', async () => {
    const { promise, resolve } = Promise.withResolvers<Duplex>();
    const { connections } = sides(() => promise);
    connections[0]?.send({ type: 'channel', value: { event: 'open', channel: 1, target: PORT } });
    connections[0]?.send({ type: 'channel', value: { event: 'close', channel: 1 } });
    await sleep(50);
    const late = new PassThrough();
    resolve(late);
    await sleep(50);
    expect(late.destroyed).toBe(true);
  });

  it('S14: a peer that takes a number which is not its own ends its connection and not our process', async () => {
    const { connections } = sides(refuseAll);
    connections[0]?.send({ type: 'channel', value: { event: 'open', channel: 2, target: PORT } });
    await expect(connections[1]?.closed).resolves.toMatchObject({ message: 'channel number in use' });
  });

  it('rule 7: a side that never answers is not waited for, and is told that nobody waits', async () => {
    const { promise, resolve } = Promise.withResolvers<Duplex>();
    const { host } = sides(() => promise, 50);
    await expect(host.open(PORT)).rejects.toThrow('no answer within');
    const late = new PassThrough();
    resolve(late);
    await once(late, 'close');
  });
});

describe('a peer without measure', () => {
  /** Our side against frames that a test makes itself; `answers` is read by nobody. */
  function against(accept: ChannelsOptions['accept']) {
    const [questions, answers] = [new PassThrough(), new PassThrough()];
    const connection = new FrameConnection({ input: questions, output: answers });
    cleanups.push(() => connection.destroy());
    new Channels(connection, { side: 'host', accept });
    const send = (frame: Frame): void => {
      for (const part of encodeFrame(frame)) questions.write(part);
    };
    const say = (value: ChannelEvent): void => send({ type: 'channel', value });
    return { send, say, questions, answers };
  }

  it('rule 7: whose bytes come one by one has them put together while nobody takes them', async () => {
    const sent = randomBytes(40_000);
    const pieces: Buffer[] = [];
    const { promise: slow, resolve: takeOn } = Promise.withResolvers<void>();
    const end = new Duplex({
      writableHighWaterMark: 1,
      read: () => undefined,
      write: (piece: Buffer, _encoding, done) => {
        pieces.push(piece);
        void slow.then(() => done());
      },
    });
    const { send, say, questions } = against(async () => end);
    say({ event: 'open', channel: 0, target: PORT });
    for (const byte of sent) send({ type: 'channel-data', channel: 0, bytes: Buffer.from([byte]) });
    say({ event: 'end', channel: 0 });
    while (questions.writableLength + questions.readableLength > 0) await sleep(10);
    takeOn();
    await once(end, 'finish');
    expect(hash(Buffer.concat(pieces))).toBe(hash(sent));
    expect(pieces.length).toBeLessThan(20);
  });

  it('rule 7: that opens channels without end and reads no answer is not read any further', async () => {
    const { say, questions, answers } = against(refuseAll);
    for (let channel = 0; channel < 60_000; channel += 2) say({ event: 'open', channel, target: PORT });
    await sleep(500);
    expect(answers.writableLength + answers.readableLength).toBeLessThan(300_000);
    expect(questions.writableLength + questions.readableLength).toBeGreaterThan(1_000_000);
  });

  it('rule 7: that closes each channel at once has no more than 256 of them connected at a time', async () => {
    let connecting = 0;
    const { say, answers } = against(() => {
      connecting++;
      return new Promise(() => undefined);
    });
    answers.resume();
    for (let channel = 0; channel < 20_000; channel += 2) {
      say({ event: 'open', channel, target: PORT });
      say({ event: 'close', channel });
    }
    while (answers.readableLength > 0 || connecting < 256) await sleep(10);
    await sleep(300);
    expect(connecting).toBe(256);
  });
});
