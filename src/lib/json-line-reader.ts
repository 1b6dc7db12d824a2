/** Bytes in, JSON lines out: what every reader of lines is made of, be it a log or a pipe. */
import { isUtf8 } from 'node:buffer';
import { messageOf } from './errors.ts';

const LF = 0x0a;
/** pi writes whole files and images into one line. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Pieces smaller than this are gathered: a line that comes byte by byte must not cost an object a byte. */
const SMALL_BYTES = 1_024;
const GATHERED_BYTES = 64 * 1024;

/** `line` counts from 1. */
export type JsonLine =
  | { kind: 'entry'; line: number; value: unknown }
  | {
      kind: 'problem';
      line: number;
      reason: string;
      /** How an overlong line begins, where {@link LineReaderOptions.headBytes} asks for it. */
      head?: string;
    };

export interface LineReaderOptions {
  /** A longer line is skipped and reported, without being held in memory. */
  maxLineBytes: number;
  /** So much of the beginning of an overlong line is told; 0 is nothing. */
  headBytes?: number;
}

export interface LineReader {
  /** The number of the line that is being read. */
  readonly line: number;
  /** The lines that this chunk ends. It has to be read to its end before the next chunk. */
  push(chunk: Buffer): Generator<JsonLine>;
  /** The line that nothing ended. */
  end(): Generator<JsonLine>;
}

/** Lines end with LF alone (U+2028 is text); however the bytes are cut into chunks, the lines are the same. */
export function jsonLineReader({ maxLineBytes, headBytes = 0 }: LineReaderOptions): LineReader {
  let line = 1;
  let pieces: Buffer[] = [];
  let length = 0;
  /** Room for small pieces. */
  let room: Buffer = Buffer.alloc(0);

  /** @param more the line goes on in the next chunk */
  function hold(piece: Buffer, more: boolean): void {
    const before = length;
    length += piece.length;
    // What an overlong line begins with is kept, in a copy of its own.
    if (before > maxLineBytes || piece.length === 0) return;
    if (length > maxLineBytes) {
      pieces = [Buffer.from(Buffer.concat([...pieces, piece], length).subarray(0, headBytes))];
      return;
    }
    if (more && piece.length < SMALL_BYTES) gather(piece);
    else pieces.push(piece);
  }

  function gather(piece: Buffer): void {
    if (room.length < piece.length) room = Buffer.allocUnsafeSlow(GATHERED_BYTES);
    piece.copy(room);
    const last = pieces.at(-1);
    const follows = last?.buffer === room.buffer && last.byteOffset + last.length === room.byteOffset;
    if (last && follows) {
      pieces.splice(-1, 1, Buffer.from(last.buffer, last.byteOffset, last.length + piece.length));
    } else pieces.push(room.subarray(0, piece.length));
    room = room.subarray(piece.length);
  }

  function* finish(ended: boolean): Generator<JsonLine> {
    const bytes = pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
    const tooLong = length > maxLineBytes;
    pieces = [];
    length = 0;
    if (tooLong) yield overlong(bytes);
    else if (bytes.length > 0) yield* parseLine(bytes, line, ended);
    line++;
  }

  function overlong(head: Buffer): JsonLine {
    const reason = `longer than ${maxLineBytes} bytes`;
    if (headBytes === 0) return { kind: 'problem', line, reason };
    return { kind: 'problem', line, reason, head: head.toString('utf8') };
  }

  return {
    get line() {
      return line;
    },
    *push(chunk) {
      let at = 0;
      for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, at)) {
        hold(chunk.subarray(at, end), false);
        yield* finish(true);
        at = end + 1;
      }
      hold(chunk.subarray(at), true);
    },
    *end() {
      if (length > 0) yield* finish(false);
    },
  };
}

function* parseLine(bytes: Buffer, line: number, ended: boolean): Generator<JsonLine> {
  if (!isUtf8(bytes)) {
    yield { kind: 'problem', line, reason: 'not valid UTF-8' };
    return;
  }
  const text = bytes.toString('utf8');
  if (text.trim() === '') return;
  try {
    const value: unknown = JSON.parse(text);
    // A number cut short is another number; an object or array that parses is whole.
    if (!ended && (typeof value !== 'object' || value === null)) throw new Error('no end of line');
    yield { kind: 'entry', line, value };
  } catch (error) {
    const reason = ended
      ? `not JSON: ${messageOf(error).slice(0, 200)}`
      : 'torn: the file ends inside this line';
    yield { kind: 'problem', line, reason };
  }
}
