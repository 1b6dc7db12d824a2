/** The end of what pi wrote to standard error: always read, so that pi never waits, and never more than a bound kept. */
import type { Readable } from 'node:stream';

export interface Tail {
  /** The last bytes as text; half a character at its beginning is left out. */
  text(): string;
  /** Bytes that came before and are gone. */
  readonly dropped: number;
}

export function tailOf(stream: Readable, maxBytes: number): Tail {
  let pieces: Buffer[] = [];
  let length = 0;
  let dropped = 0;

  function trim(): void {
    const kept = Buffer.concat(pieces).subarray(-maxBytes);
    dropped += length - kept.length;
    length = kept.length;
    pieces = [kept];
  }

  stream.on('data', (chunk: Buffer) => {
    pieces.push(chunk);
    length += chunk.length;
    // Now and then rather than at each piece: a flood is then copied twice and not a thousand times.
    if (length > 2 * maxBytes || pieces.length > 1_000) trim();
  });
  stream.on('error', () => {});

  return {
    text() {
      trim();
      const bytes = pieces[0] ?? Buffer.alloc(0);
      let start = 0;
      if (dropped > 0) while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
      return bytes.toString('utf8', start);
    },
    get dropped() {
      trim();
      return dropped;
    },
  };
}
