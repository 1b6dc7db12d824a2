/** Frames over a pair of byte streams, in order, with backpressure both ways, and a clear answer to how it ended. */
import type { Duplex, Readable, Writable } from 'node:stream';
import { messageOf } from '../lib/errors.ts';
import { FrameDecoder } from './decoder.ts';
import { encodeFrame, type Frame, WireError } from './frame.ts';

/** `input` comes from the peer, `output` goes to it. */
export interface StreamPair {
  input: Readable;
  output: Writable;
}

/**
 * How a connection ended. `clean`: one side said that it was through (`bye`, `exited`, `detached`, or our own
 * `end`/`destroy`). `lost`: the stream stopped without that, so the peer or the way to it died.
 */
export type Closing = 'clean' | 'lost' | WireError;

/** A returned promise holds back the next frame, and in the end the peer, until it settles. */
export type FrameHandler = (frame: Frame) => void | Promise<void>;

/** After the way to the peer broke, how long what it still sends is waited for; each chunk starts the time anew. */
const LINGER_MS = 2_000;

function isLast(frame: Frame): boolean {
  return frame.type === 'bye' || frame.type === 'exited' || frame.type === 'detached';
}

export class FrameConnection {
  /** Settles once, after the last frame was handled; never rejects. */
  readonly closed: Promise<Closing>;

  readonly #input: Readable;
  readonly #output: Writable;
  readonly #oneStream: boolean;
  readonly #decoder = new FrameDecoder();
  readonly #settle: (closing: Closing) => void;
  #queue: Frame[] = [];
  #handler: FrameHandler | undefined;
  #attached = false;
  #paused = false;
  #handling = false;
  #inputEnded = false;
  #done = false;
  /** Either side has said that this connection is over. */
  #last = false;
  #lastSent = false;
  #failure: WireError | undefined;
  /** Waiting in {@link drained}. */
  #writers: Array<() => void> = [];
  #linger: NodeJS.Timeout | undefined;

  constructor(stream: Duplex | StreamPair) {
    this.#oneStream = !('input' in stream);
    const pair = 'input' in stream ? stream : { input: stream, output: stream };
    this.#input = pair.input;
    this.#output = pair.output;
    let settle: (closing: Closing) => void = () => {};
    this.closed = new Promise((resolve) => {
      settle = resolve;
    });
    this.#settle = settle;
    const inputEnded = (): void => this.#endInput();
    this.#input.once('end', inputEnded).once('close', inputEnded).on('error', inputEnded);
    const outputBroken = (): void => this.#startLinger();
    this.#output
      .on('drain', () => this.#wake())
      .on('error', outputBroken)
      .once('close', outputBroken);
  }

  /** True until the connection has ended; afterwards `send` drops what it is given. */
  get open(): boolean {
    return !this.#done;
  }

  /**
   * Hands every frame to `handler`, one after the other, from now on (a later call replaces the handler, also from
   * inside one). A handler that throws ends the connection with that error.
   */
  onFrame(handler: FrameHandler): void {
    this.#handler = handler;
    if (!this.#attached) {
      this.#attached = true;
      this.#input.on('data', (chunk: Buffer) => this.#receive(chunk));
    }
    this.#deliver();
  }

  /** The next frame alone, for a dialogue step by step; undefined when the connection ended instead. */
  read(): Promise<Frame | undefined> {
    return new Promise((resolve) => {
      this.onFrame((frame) => {
        this.#handler = undefined;
        resolve(frame);
      });
      void this.closed.then(() => resolve(undefined));
    });
  }

  /** No frame is handled until `resume`; the peer is held back. The end of the stream is not noticed meanwhile. */
  pause(): void {
    this.#paused = true;
    this.#input.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#deliver();
  }

  /**
   * Queues a frame. False: wait for {@link drained} before sending more. Raw bytes are not copied.
   *
   * @throws WireError when the frame is longer than its type allows
   */
  send(frame: Frame): boolean {
    const parts = encodeFrame(frame);
    if (this.#done || !this.#output.writable) return false;
    if (isLast(frame)) {
      this.#last = true;
      this.#lastSent = true;
    }
    this.#output.cork();
    let more = true;
    for (const part of parts) more = this.#output.write(part);
    this.#output.uncork();
    return more;
  }

  /** Resolves when more may be sent, and at once when nothing can be any more. */
  drained(): Promise<void> {
    if (this.#done || !this.#output.writable || !this.#output.writableNeedDrain) return Promise.resolve();
    return new Promise((resolve) => this.#writers.push(resolve));
  }

  /**
   * Ends on purpose: says `bye` unless a last frame was already sent, and closes our direction once everything is
   * written. The peer's remaining frames are still handled. Resolves when the peer's system has taken all bytes.
   */
  async end(): Promise<void> {
    if (!this.#lastSent) this.send({ type: 'bye' });
    this.#last = true;
    if (this.#done || !this.#output.writable) return;
    await new Promise<void>((resolve) => {
      this.#output.end(resolve);
      this.#output.once('close', resolve);
    });
  }

  /** Drops the connection now, with everything not yet written or handled. */
  destroy(): void {
    this.#last = true;
    this.#finish();
  }

  #receive(chunk: Buffer): void {
    if (this.#done) return;
    this.#linger?.refresh();
    try {
      for (const frame of this.#decoder.push(chunk)) this.#queue.push(frame);
      this.#failure = this.#decoder.failure;
    } catch (error) {
      this.#failure = asWireError(error);
    }
    if (this.#failure) this.#inputEnded = true;
    this.#deliver();
  }

  #endInput(): void {
    this.#inputEnded = true;
    this.#deliver();
  }

  /** One loop for everything that can make a frame deliverable: bytes, a handler, `resume`, a settled promise. */
  #deliver(): void {
    if (this.#handling || this.#done) return;
    this.#handling = true;
    let next = 0;
    while (next < this.#queue.length && this.#handler && !this.#paused && !this.#done) {
      const frame = this.#queue[next++];
      if (frame && this.#handle(frame, this.#handler)) {
        // The promise's end calls again; until then `#handling` stays set.
        this.#queue.splice(0, next);
        this.#input.pause();
        return;
      }
    }
    this.#queue.splice(0, next);
    this.#handling = false;
    if (this.#done) return;
    if (this.#queue.length === 0 && this.#inputEnded) this.#finish();
    else if (this.#paused || !this.#handler) this.#input.pause();
    else if (this.#input.isPaused()) this.#input.resume();
  }

  /** True when the handler returned a promise, which continues the delivery by itself. */
  #handle(frame: Frame, handler: FrameHandler): boolean {
    if (isLast(frame)) this.#last = true;
    try {
      const pending = handler(frame);
      if (!pending) return false;
      pending
        .catch((error: unknown) => this.#fail(error))
        .finally(() => {
          this.#handling = false;
          this.#deliver();
        });
      return true;
    } catch (error) {
      this.#fail(error);
      return false;
    }
  }

  #fail(error: unknown): void {
    this.#failure = asWireError(error);
    this.#finish();
  }

  #wake(): void {
    const writers = this.#writers;
    this.#writers = [];
    for (const resolve of writers) resolve();
  }

  /** A write failed, yet the peer's last words (`exited`) may still be on their way to us. */
  #startLinger(): void {
    this.#wake();
    if (this.#output.writableFinished) return;
    if (this.#done || this.#inputEnded || this.#linger) return;
    this.#linger = setTimeout(() => {
      if (this.#paused || this.#handling) this.#linger?.refresh();
      else this.#finish();
    }, LINGER_MS);
    this.#linger.unref();
  }

  #finish(): void {
    if (this.#done) return;
    this.#done = true;
    clearTimeout(this.#linger);
    this.#queue = [];
    const closing = this.#failure ?? (this.#last ? 'clean' : 'lost');
    this.#input.destroy();
    // What we still have to say to a peer that ended well is written out; for any other nobody is there.
    if (closing === 'clean' && this.#inputEnded && !this.#oneStream) this.#output.end();
    else this.#output.destroy();
    this.#wake();
    this.#settle(closing);
  }
}

function asWireError(error: unknown): WireError {
  return error instanceof WireError ? error : new WireError(messageOf(error), { cause: error });
}
