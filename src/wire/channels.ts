/**
 * Many byte streams over one connection: what `forward` and the relays of credentials are made of (S10, S14). Either
 * side opens channels, each with its own credit, so that one that nobody reads holds back only itself.
 */
import { Duplex } from 'node:stream';
import { messageOf, OperationError } from '../lib/errors.ts';
import type { FrameConnection } from './connection.ts';
import { InputCredit, InputLedger } from './flow.ts';
import { type Frame, PIECE_BYTES, WireError } from './frame.ts';
import { joinStreams } from './join-streams.ts';
import type { ChannelEvent, ChannelTarget } from './relay.ts';

/** More open channels at once are refused (rule 7). */
const MAX_CHANNELS = 256;
/** The longest reason that a refusal gives. */
const MAX_REASON = 300;

/** The other side would not open a channel; the message is its reason. */
export class ChannelRefusedError extends OperationError {}

export interface ChannelsOptions {
  /** Decides which numbers this side gives to channels, so that the two never meet. */
  readonly side: 'host' | 'sandbox';
  /** Makes what a channel of the other side leads to. What it throws is the reason of the refusal. */
  readonly accept: (target: ChannelTarget) => Promise<Duplex>;
}

/** The channels of one connection; it takes over the connection's frames. */
export class Channels {
  readonly #connection: FrameConnection;
  readonly #accept: ChannelsOptions['accept'];
  readonly #mine: number;
  readonly #open = new Map<number, Channel>();
  /** Those too that the other side has closed and whose last bytes nobody has read yet. */
  readonly #alive = new Set<Channel>();
  #next: number;

  constructor(connection: FrameConnection, { side, accept }: ChannelsOptions) {
    this.#connection = connection;
    this.#accept = accept;
    this.#mine = side === 'host' ? 1 : 0;
    this.#next = this.#mine;
    connection.onFrame((frame) => this.#take(frame));
    void connection.closed.then(() => {
      for (const channel of this.#alive) channel.lost();
    });
  }

  /**
   * Opens a channel to something on the other side.
   *
   * @throws ChannelRefusedError when the other side says no, or is gone
   */
  async open(target: ChannelTarget): Promise<Duplex> {
    if (!this.#connection.open) throw new ChannelRefusedError('the connection to the sandbox is gone');
    this.#next = (this.#next + 2) % 2 ** 32;
    const channel = this.#add(this.#next);
    this.#connection.send({ type: 'channel', value: { event: 'open', channel: channel.number, target } });
    await channel.answered;
    return channel;
  }

  #add(number: number): Channel {
    const channel = new Channel(number, this.#connection);
    this.#open.set(number, channel);
    this.#alive.add(channel);
    channel.once('close', () => {
      this.#alive.delete(channel);
      if (this.#open.get(number) === channel) this.#open.delete(number);
    });
    return channel;
  }

  #take(frame: Frame): void {
    if (frame.type === 'channel-data') this.#open.get(frame.channel)?.receive(frame.bytes);
    if (frame.type !== 'channel') return;
    if (frame.value.event === 'open') this.#asked(frame.value.channel, frame.value.target);
    else this.#happened(frame.value);
  }

  #happened(event: ChannelEvent): void {
    const channel = this.#open.get(event.channel);
    channel?.happened(event);
    if (channel === undefined || event.event !== 'close') return;
    // Not only when its own `close` comes: the next frame may be about its successor.
    this.#open.delete(event.channel);
    if (channel.destroyed) this.#alive.delete(channel);
  }

  #asked(number: number, target: ChannelTarget): void {
    // Here, where the connection takes it for what the peer did: in a promise it would end our process.
    if (number % 2 === this.#mine || this.#open.has(number)) throw new WireError('channel number in use');
    void this.#opened(number, target);
  }

  async #opened(number: number, target: ChannelTarget): Promise<void> {
    const refuse = (reason: string): void => {
      const value = { event: 'refused', channel: number, reason: reason.slice(0, MAX_REASON) } as const;
      this.#connection.send({ type: 'channel', value });
    };
    if (this.#alive.size >= MAX_CHANNELS) return refuse(`more than ${MAX_CHANNELS} channels are open`);
    // There from the first moment: the other side may send ahead, or go away, while we connect.
    const channel = this.#add(number);
    try {
      const end = await this.#accept(target);
      // Its `close` was before: nobody would ever close this end.
      if (channel.destroyed) return void end.destroy();
      this.#connection.send({ type: 'channel', value: { event: 'opened', channel: number } });
      joinStreams(channel, end);
    } catch (error) {
      refuse(messageOf(error));
      channel.lost();
    }
  }
}

/** One channel's own end of it. */
class Channel extends Duplex {
  readonly number: number;
  readonly answered: Promise<void>;
  readonly #connection: FrameConnection;
  readonly #credit: InputCredit;
  readonly #ledger = new InputLedger();
  readonly #over = Promise.withResolvers<void>();
  readonly #answer = Promise.withResolvers<void>();
  #gone = false;
  /** The other side writes no more. */
  #ended = false;
  /** Bytes received and not yet counted as taken. */
  #unread = 0;

  constructor(number: number, connection: FrameConnection) {
    super({ allowHalfOpen: true });
    this.number = number;
    this.#connection = connection;
    this.#credit = new InputCredit(this.#over.promise);
    this.answered = this.#answer.promise;
    // Nobody waits for the answer to a channel that the other side opened.
    this.answered.catch(() => undefined);
    // A relay's two ends are told apart by `close`; an error nobody listens for must not end the process.
    this.on('error', () => undefined);
  }

  receive(bytes: Uint8Array): void {
    if (this.#gone) return;
    this.#ledger.received(bytes.length);
    this.#unread += bytes.length;
    this.push(bytes);
    this.#consumed();
  }

  /** What has left our own buffer is taken; a reader that stops keeps the rest uncounted, and so the sender waiting. */
  override read(size?: number): unknown {
    const chunk: unknown = super.read(size);
    this.#consumed();
    return chunk;
  }

  #consumed(): void {
    const taken = this.#unread - this.readableLength;
    this.#unread = this.readableLength;
    if (taken <= 0) return;
    const ack = this.#ledger.consumed(taken);
    if (ack > 0) this.#say({ event: 'ack', channel: this.number, consumed: ack });
  }

  happened(event: ChannelEvent): void {
    switch (event.event) {
      case 'opened':
        this.#answer.resolve();
        return;
      case 'refused':
        this.#gone = true;
        this.#answer.reject(new ChannelRefusedError(event.reason));
        this.destroy();
        return;
      case 'ack':
        this.#credit.acknowledge(event.consumed);
        return;
      case 'end':
        this.#ended = true;
        this.push(null);
        return;
      case 'close':
        this.#closed();
        return;
      case 'open':
        return;
    }
  }

  /** After its `end` the other side has said all there is: whoever reads slowly still gets it. */
  #closed(): void {
    if (this.#ended && !this.readableEnded) {
      this.#gone = true;
      this.#over.resolve();
      this.once('end', () => this.destroy());
    } else this.lost();
  }

  /** The other end is gone, and needs not be told. */
  lost(): void {
    this.#gone = true;
    this.#answer.reject(new ChannelRefusedError('the connection to the sandbox was lost'));
    this.destroy();
  }

  override _read(): void {
    // Bytes come when they come.
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    void this.#send(chunk).then(() => done(), done);
  }

  async #send(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length; ) {
      const granted = this.#credit.take(Math.min(PIECE_BYTES, chunk.length - at));
      if (granted === 0) {
        if (!(await this.#credit.available())) return;
        continue;
      }
      const bytes = chunk.subarray(at, at + granted);
      at += granted;
      const more = this.#connection.send({ type: 'channel-data', channel: this.number, bytes });
      if (!more) await this.#connection.drained();
    }
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#say({ event: 'end', channel: this.number });
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.#gone) this.#say({ event: 'close', channel: this.number });
    this.#gone = true;
    this.#over.resolve();
    done(error);
  }

  #say(value: ChannelEvent): void {
    if (!this.#gone || value.event === 'ack') this.#connection.send({ type: 'channel', value });
  }
}
