/**
 * Standard input is sent on credit: a program that reads nothing then holds back its client alone, while signals,
 * resizes and the client's end still get through on the same connection, which neither side ever has to pause.
 */
import type { FrameConnection } from './connection.ts';
import { WireError } from './frame.ts';

/** Bytes of standard input that a client may have sent without an `ack`. Part of the protocol. */
export const INPUT_WINDOW_BYTES = 256 * 1024;

/** The client's side: how much more it may send. */
export class InputCredit {
  readonly #window: number;
  #outstanding = 0;
  #closed = false;
  #waiting: Array<() => void> = [];

  /** `over` is the connection's `closed`: from then on nobody is kept waiting for credit. */
  constructor(over: Promise<unknown>, window = INPUT_WINDOW_BYTES) {
    this.#window = window;
    void over.then(() => {
      this.#closed = true;
      this.#wake();
    });
  }

  /** Takes up to `wanted` bytes of credit and returns how many may be sent now; 0 means to wait for {@link available}. */
  take(wanted: number): number {
    const granted = this.#closed ? 0 : Math.min(wanted, this.#window - this.#outstanding);
    this.#outstanding += granted;
    return granted;
  }

  /** Resolves true when there is credit, false when there never will be again. */
  async available(): Promise<boolean> {
    while (!this.#closed && this.#outstanding >= this.#window) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    return !this.#closed;
  }

  /**
   * Gives back what an `ack` frame says was consumed.
   *
   * @throws WireError when that is more than was sent
   */
  acknowledge(consumed: number): void {
    if (consumed > this.#outstanding) {
      throw new WireError(`ack of ${consumed} bytes, but only ${this.#outstanding} were sent`);
    }
    this.#outstanding -= consumed;
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

/** The receiver's side: holds the client to its credit and says when to send which `ack`. */
export class InputLedger {
  readonly #window: number;
  #outstanding = 0;
  #unsaid = 0;

  constructor(window = INPUT_WINDOW_BYTES) {
    this.#window = window;
  }

  /**
   * Notes bytes that arrived.
   *
   * @throws WireError when the client sends beyond its credit (rule 7: what waits here stays bounded)
   */
  received(bytes: number): void {
    this.#outstanding += bytes;
    if (this.#outstanding > this.#window) {
      throw new WireError(`the peer sent more than the ${this.#window} bytes of input it may send ahead`);
    }
  }

  /** Notes bytes that the program took; returns what to send in an `ack` frame now, or 0 for not yet. */
  consumed(bytes: number): number {
    this.#unsaid += bytes;
    // A quarter at a time: few acks, and never so few that the client could run dry waiting for one.
    if (this.#unsaid < this.#window / 4) return 0;
    const ack = this.#unsaid;
    this.#unsaid = 0;
    this.#outstanding -= ack;
    return ack;
  }
}

/** Sends one chunk of standard input as credit and the stream allow; false when the connection ended before. */
export async function sendInput(
  connection: FrameConnection,
  credit: InputCredit,
  chunk: Uint8Array,
): Promise<boolean> {
  let at = 0;
  while (at < chunk.length) {
    const granted = credit.take(chunk.length - at);
    if (granted === 0) {
      if (!(await credit.available())) return false;
      continue;
    }
    if (!connection.send({ type: 'data', bytes: chunk.subarray(at, at + granted) }))
      await connection.drained();
    if (!connection.open) return false;
    at += granted;
  }
  return connection.open;
}
