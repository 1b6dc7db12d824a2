/** From a stream of bytes, cut anywhere, back to frames (H2). */
import {
  type Frame,
  type FrameType,
  HEADER_BYTES,
  maxPayload,
  parsePayload,
  typeOfNumber,
  WireError,
} from './frame.ts';

/**
 * Holds at most one unfinished frame: five bytes of header and a payload within its type's bound. A payload that
 * arrives in one chunk is handed on as a view of that chunk, any other is copied once.
 */
export class FrameDecoder {
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerFilled = 0;
  #type: FrameType = 'bye';
  #length = 0;
  #payload: Buffer | undefined;
  #payloadFilled = 0;
  #failure: WireError | undefined;

  /** Why nothing can be decoded any more, once that is so. */
  get failure(): WireError | undefined {
    return this.#failure;
  }

  /**
   * The frames that this chunk completes. If something malformed follows good frames, those are returned first and
   * {@link failure} is set; the error is thrown where it stands alone and by every later call.
   */
  push(chunk: Buffer): Frame[] {
    if (this.#failure) throw this.#failure;
    const frames: Frame[] = [];
    try {
      this.#decode(chunk, frames);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.#failure = error;
      this.#payload = undefined;
      if (frames.length === 0) throw error;
    }
    return frames;
  }

  /**
   * Says that the stream has ended.
   *
   * @throws WireError when it ended inside a frame, or was malformed before
   */
  finish(): void {
    if (this.#failure) throw this.#failure;
    if (this.#headerFilled > 0) throw new WireError('the stream ended in the middle of a frame');
  }

  #decode(chunk: Buffer, frames: Frame[]): void {
    let at = 0;
    for (;;) {
      if (this.#headerFilled < HEADER_BYTES) {
        const taken = chunk.copy(
          this.#header,
          this.#headerFilled,
          at,
          at + HEADER_BYTES - this.#headerFilled,
        );
        this.#headerFilled += taken;
        at += taken;
        // The first byte alone can tell garbage from a frame: a stranger is refused before it sends more.
        if (this.#headerFilled > 0) this.#readHeader();
        if (this.#headerFilled < HEADER_BYTES) return;
      }
      const payload = this.#take(chunk, at);
      if (!payload) return;
      at += payload.consumed;
      this.#headerFilled = 0;
      this.#payload = undefined;
      this.#payloadFilled = 0;
      frames.push(parsePayload(this.#type, payload.bytes));
    }
  }

  #readHeader(): void {
    const number = this.#header.readUInt8(0);
    const type = typeOfNumber(number);
    if (!type) throw new WireError(`not a frame of this protocol: it begins with byte ${number}`);
    if (this.#headerFilled < HEADER_BYTES) return;
    const length = this.#header.readUInt32BE(1);
    if (length > maxPayload(type)) {
      throw new WireError(`${type} frame announces ${length} bytes: ${maxPayload(type)} are allowed`);
    }
    this.#type = type;
    this.#length = length;
  }

  #take(chunk: Buffer, at: number): { bytes: Buffer; consumed: number } | undefined {
    if (!this.#payload) {
      if (chunk.length - at >= this.#length) {
        return { bytes: chunk.subarray(at, at + this.#length), consumed: this.#length };
      }
      if (chunk.length === at) return undefined;
      this.#payload = Buffer.allocUnsafe(this.#length);
    }
    const consumed = chunk.copy(
      this.#payload,
      this.#payloadFilled,
      at,
      at + this.#length - this.#payloadFilled,
    );
    this.#payloadFilled += consumed;
    return this.#payloadFilled === this.#length ? { bytes: this.#payload, consumed } : undefined;
  }
}
