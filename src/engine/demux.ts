import { type Duplex, Readable } from 'node:stream';

const HEADER_BYTES = 8;
const STDERR = 2;
/** 0 stdin, 1 stdout, 2 stderr, 3 an error of the engine's own. */
const LAST_STREAM_TYPE = 3;
/** Beyond this a "length" is plain text that was taken for a header. */
const MAX_FRAME_BYTES = 1024 * 1024 * 1024;

/** How the multiplexed stream ended: at the end of a frame, or not. It does not say that the program ended. */
export type StreamEnd = { outcome: 'ended' } | { outcome: 'lost'; error: Error };

export interface DemuxedStreams {
  stdout: Readable;
  stderr: Readable;
  ended: Promise<StreamEnd>;
}

/**
 * Splits an attach or exec stream without a TTY into its two outputs. A reader that pauses holds the engine back (and
 * with it the program), so both outputs must be read or destroyed. Bytes are passed on without being copied.
 */
export function demux(source: Duplex): DemuxedStreams {
  const full = new Set<Readable>();
  const output = () => {
    const readable = new Readable({
      highWaterMark: 256 * 1024,
      read: () => {
        full.delete(readable);
        if (full.size === 0) source.resume();
      },
      destroy(error, done) {
        // A consumer that has enough must not hold up the other output.
        full.delete(readable);
        if (full.size === 0) source.resume();
        done(error);
      },
    });
    // A lost connection is told by `ended`; an output that nobody listens to must not crash the process.
    return readable.on('error', () => {});
  };
  const stdout = output();
  const stderr = output();
  const parse = frameParser((type, bytes) => {
    const target = type >= STDERR ? stderr : stdout;
    if (!target.destroyed && !target.push(bytes)) {
      full.add(target);
      source.pause();
    }
  });

  function finish(end: StreamEnd): StreamEnd {
    for (const readable of [stdout, stderr]) {
      if (end.outcome === 'lost') readable.destroy(end.error);
      else if (!readable.destroyed && !readable.readableEnded) readable.push(null);
    }
    return end;
  }

  source.on('data', (chunk: Buffer) => {
    const problem = parse.take(chunk);
    if (problem) source.destroy(problem);
  });
  const closed = new Error('the connection to the engine was closed');
  const ended = new Promise<StreamEnd>((resolve) => {
    source.once('end', () => resolve(parse.end()));
    source.on('error', (error) => resolve({ outcome: 'lost', error }));
    source.once('close', () => resolve({ outcome: 'lost', error: closed }));
  }).then(finish);
  return { stdout, stderr, ended };
}

interface FrameParser {
  /** Returns an error when the bytes are no frames. */
  take(chunk: Buffer): Error | undefined;
  end(): StreamEnd;
}

/** The engine's framing: type, three zero bytes, length as 32 bits big-endian, then the bytes. */
function frameParser(emit: (type: number, bytes: Buffer) => void): FrameParser {
  const header = Buffer.alloc(HEADER_BYTES);
  let headerBytes = 0;
  let left = 0;

  return {
    take(chunk) {
      let at = 0;
      while (at < chunk.length) {
        if (left > 0) {
          const bytes = chunk.subarray(at, at + left);
          left -= bytes.length;
          at += bytes.length;
          emit(header.readUInt8(0), bytes);
          continue;
        }
        const copied = chunk.copy(header, headerBytes, at, at + HEADER_BYTES - headerBytes);
        headerBytes += copied;
        at += copied;
        if (headerBytes < HEADER_BYTES) break;
        headerBytes = 0;
        left = header.readUInt32BE(4);
        if (header.readUInt8(0) > LAST_STREAM_TYPE || left > MAX_FRAME_BYTES) {
          return new Error(
            `the engine sent no frames but: ${JSON.stringify(chunk.toString('utf8', 0, 200))}`,
          );
        }
      }
      return undefined;
    },
    end() {
      if (left === 0 && headerBytes === 0) return { outcome: 'ended' };
      return {
        outcome: 'lost',
        error: new Error('the connection to the engine broke in the middle of a frame'),
      };
    },
  };
}
