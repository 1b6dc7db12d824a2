import { createHash } from 'node:crypto';
import { OperationError } from '../../lib/errors.ts';
import type { FrameConnection, MergeAnnouncement } from '../../wire/index.ts';

/** A client that sends nothing for this long in the middle of its configuration is given up (rule 7). */
const SILENCE_MS = 30_000;

/** Collects the tar that follows a request, and refuses more or other bytes than were announced. */
export class MergeReceiver {
  readonly announced: MergeAnnouncement;
  private readonly pieces: Uint8Array[] = [];
  private received = 0;

  constructor(announced: MergeAnnouncement) {
    this.announced = announced;
  }

  get complete(): boolean {
    return this.received === this.announced.length;
  }

  push(piece: Uint8Array): void {
    this.received += piece.length;
    if (this.received > this.announced.length) {
      throw new OperationError('the merged configuration is longer than announced', { hint: 'start again' });
    }
    this.pieces.push(piece);
  }

  /** The tar, once complete and equal to its announced hash. */
  take(): Buffer {
    const tar = Buffer.concat(this.pieces);
    if (!this.complete || createHash('sha256').update(tar).digest('hex') !== this.announced.sha256) {
      throw new OperationError('the merged configuration arrived damaged', { hint: 'start again' });
    }
    return tar;
  }
}

/** @throws OperationError when what comes is not what was announced, or the client is lost before it all came */
export async function receiveMerge(
  connection: FrameConnection,
  announced: MergeAnnouncement,
  silenceMs = SILENCE_MS,
): Promise<Buffer> {
  const receiver = new MergeReceiver(announced);
  while (!receiver.complete) {
    const timer = setTimeout(() => connection.destroy(), silenceMs);
    const frame = await connection.read();
    clearTimeout(timer);
    if (frame === undefined) {
      throw new OperationError('the client was lost before its configuration had arrived');
    }
    if (frame.type !== 'blob') {
      throw new OperationError(`a ${frame.type} frame in the middle of the merged configuration`);
    }
    receiver.push(frame.bytes);
  }
  return receiver.take();
}
