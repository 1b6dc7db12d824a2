/**
 * Many byte streams over one connection: what `forward` and the relays of credentials are made of (S10, S14). Either
 * side opens channels, each with its own credit, so that one that nobody reads holds back only itself.
 */
import type { Duplex } from 'node:stream';
import { messageOf } from '../lib/errors.ts';
import { Channel, ChannelRefusedError } from './channel.ts';
import type { FrameConnection } from './connection.ts';
import { type Frame, WireError } from './frame.ts';
import { joinStreams } from './join-streams.ts';
import type { ChannelEvent, ChannelTarget } from './relay.ts';

/** More open channels at once are refused (rule 7). */
const MAX_CHANNELS = 256;
/** The longest reason that a refusal gives. */
const MAX_REASON = 300;
/** A side that answers looks twice for a listener, five seconds each; another one may never answer (rule 7). */
const ANSWER_MS = 20_000;

export interface ChannelsOptions {
  /** Decides which numbers this side gives to channels, so that the two never meet. */
  readonly side: 'host' | 'sandbox';
  /** Makes what a channel of the other side leads to. What it throws is the reason of the refusal. */
  readonly accept: (target: ChannelTarget) => Promise<Duplex>;
  /** How long the other side may take to open a channel, in milliseconds. */
  readonly answerMs?: number;
}

/** The channels of one connection; it takes over the connection's frames. */
export class Channels {
  readonly #connection: FrameConnection;
  readonly #accept: ChannelsOptions['accept'];
  readonly #answerMs: number;
  readonly #mine: number;
  readonly #open = new Map<number, Channel>();
  /** Those too that the other side has closed, while somebody still reads their last bytes or connects them. */
  readonly #alive = new Set<Channel>();
  readonly #connecting = new Set<Channel>();
  #next: number;

  constructor(connection: FrameConnection, { side, accept, answerMs = ANSWER_MS }: ChannelsOptions) {
    this.#connection = connection;
    this.#accept = accept;
    this.#answerMs = answerMs;
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
   * @throws ChannelRefusedError when the other side says no, says nothing, or is gone
   */
  async open(target: ChannelTarget): Promise<Duplex> {
    if (!this.#connection.open) throw new ChannelRefusedError('the connection to the sandbox is gone');
    this.#next = (this.#next + 2) % 2 ** 32;
    const channel = this.#add(this.#next);
    this.#connection.send({ type: 'channel', value: { event: 'open', channel: channel.number, target } });
    const late = `no answer within ${this.#answerMs / 1_000} s`;
    const timer = setTimeout(() => channel.unanswered(late), this.#answerMs);
    await channel.answered.finally(() => clearTimeout(timer));
    return channel;
  }

  #add(number: number): Channel {
    const channel = new Channel(number, this.#connection);
    this.#open.set(number, channel);
    this.#alive.add(channel);
    channel.once('close', () => {
      this.#forget(channel);
      if (this.#open.get(number) === channel) this.#open.delete(number);
    });
    return channel;
  }

  /** One that is being connected counts until that is done: each costs a file, whatever the other side does meanwhile. */
  #forget(channel: Channel): void {
    if (!this.#connecting.has(channel)) this.#alive.delete(channel);
  }

  #take(frame: Frame): void | Promise<void> {
    if (frame.type === 'channel-data') this.#open.get(frame.channel)?.receive(frame.bytes);
    if (frame.type !== 'channel') return;
    if (frame.value.event !== 'open') return this.#happened(frame.value);
    this.#asked(frame.value.channel, frame.value.target);
    // Who asks on and on and reads no answer is not read any further (rule 7).
    return this.#connection.drained();
  }

  #happened(event: ChannelEvent): void {
    const channel = this.#open.get(event.channel);
    channel?.happened(event);
    if (channel === undefined || event.event !== 'close') return;
    // Not only when its own `close` comes: the next frame may be about its successor.
    this.#open.delete(event.channel);
    if (channel.destroyed) this.#forget(channel);
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
    this.#connecting.add(channel);
    try {
      const end = await this.#accept(target);
      // Its `close` was before: nobody would ever close this end.
      if (channel.destroyed) return void end.destroy();
      this.#connection.send({ type: 'channel', value: { event: 'opened', channel: number } });
      joinStreams(channel, end);
    } catch (error) {
      // After its `close` the number may be its successor's.
      if (!channel.destroyed) refuse(messageOf(error));
      channel.lost();
    } finally {
      this.#connecting.delete(channel);
      if (channel.destroyed) this.#alive.delete(channel);
    }
  }
}
