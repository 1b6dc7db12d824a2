/** One of the byte streams of `channels.ts`, as this side has it. */
import { Duplex } from 'node:stream';
import { OperationError } from '../lib/errors.ts';
import type { FrameConnection } from './connection.ts';
import { InputCredit, InputLedger } from './flow.ts';
import { PIECE_BYTES } from './frame.ts';
import type { ChannelEvent } from './relay.ts';

/** What nobody reads yet is kept in blocks of this size. */
const BLOCK_BYTES = 16 * 1024;

/** The other side would not open a channel; the message is its reason. */
export class ChannelRefusedError extends OperationError {}

/** One channel's own end of it. */
export class Channel extends Duplex {
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
  /** The last of them, while others wait before them. */
  #block: Buffer | undefined;
  #blockBytes = 0;

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
    if (this.readableLength === 0) this.push(bytes);
    else this.#gather(bytes);
    this.#consumed();
  }

  /**
   * Copies what has to wait: a piece as it came keeps alive the chunk that it came in, which may be many times as long,
   * and a byte by itself costs a hundred (rule 7).
   */
  #gather(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      this.#block ??= Buffer.allocUnsafeSlow(BLOCK_BYTES);
      const piece = bytes.subarray(at, at + BLOCK_BYTES - this.#blockBytes);
      this.#block.set(piece, this.#blockBytes);
      this.#blockBytes += piece.length;
      at += piece.length;
      if (this.#blockBytes === BLOCK_BYTES) this.#pushBlock();
    }
  }

  #pushBlock(): void {
    const waiting = this.#block?.subarray(0, this.#blockBytes);
    this.#block = undefined;
    this.#blockBytes = 0;
    if (waiting !== undefined && !this.destroyed) this.push(waiting);
  }

  /** What has left our own buffer is taken; a reader that stops keeps the rest uncounted, and so the sender waiting. */
  override read(size?: number): unknown {
    const chunk: unknown = super.read(size);
    if (this.readableLength === 0) this.#pushBlock();
    this.#consumed();
    return chunk;
  }

  #consumed(): void {
    const left = this.readableLength + this.#blockBytes;
    const taken = this.#unread - left;
    this.#unread = left;
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
        this.#pushBlock();
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

  /** The other side takes too long to answer. */
  unanswered(reason: string): void {
    this.#answer.reject(new ChannelRefusedError(reason));
    this.destroy();
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
