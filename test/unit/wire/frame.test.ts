import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  encodeFrame,
  type Frame,
  FrameDecoder,
  MAX_PAYLOAD_BYTES,
  PIECE_BYTES,
  WireError,
} from '../../../src/wire/index.ts';

const SEED = 20_260_701;

const OPEN: Frame = {
  type: 'open',
  value: {
    verb: 'run',
    id: '0123456789abcdef0123456789abcdef',
    program: 'pi',
    arguments: ['-p', 'grüß dich\u2028\n'],
    directory: '/srv/projekt ä',
    environment: { TERM: 'xterm-256color' },
    terminal: { columns: 120, rows: 40 },
    merge: { length: 1024, sha256: 'a'.repeat(64) },
  },
};

const ONE_OF_EACH: Frame[] = [
  { type: 'hello', value: { protocol: 1, version: '0.1.0', token: 'secret' } },
  OPEN,
  { type: 'open', value: { verb: 'logs', tail: 100, follow: true } },
  { type: 'reply', value: { answer: 'accepted', value: { living: [] } } },
  { type: 'reply', value: { answer: 'refused', message: 'no', hint: 'stop first', exitCode: 1 } },
  { type: 'data', bytes: Buffer.from('\u001b[2J\u0000ÿ') },
  { type: 'data', bytes: Buffer.alloc(0) },
  { type: 'data', bytes: Buffer.alloc(PIECE_BYTES, 7) },
  { type: 'error-data', bytes: Buffer.from([0xff, 0xfe, 0x80]) },
  { type: 'end-of-input' },
  { type: 'ack', consumed: 4_294_967_295 },
  { type: 'resize', value: { columns: 10_000, rows: 1 } },
  { type: 'signal', value: { signal: 'SIGINT' } },
  { type: 'output-closed', value: { stream: 'stderr' } },
  { type: 'blob', bytes: Buffer.alloc(3_000, 1) },
  { type: 'status', value: { level: 'warning', text: 'two\nlines' } },
  { type: 'detached', value: { reason: 'taken over', reattach: 'pi-sandbox attach' } },
  { type: 'exited', value: { code: null, signal: 'SIGKILL', outOfMemory: { limit: 4_294_967_296 } } },
  { type: 'control', value: { anything: [1, null, 'x'] } },
  { type: 'bye' },
];

function encoded(frames: Frame[]): Buffer {
  return Buffer.concat(frames.flatMap(encodeFrame));
}

/** All frames that come out until the stream ends or breaks, and how it broke. */
function decodeAll(chunks: Buffer[]): { frames: Frame[]; failure: WireError | undefined } {
  const decoder = new FrameDecoder();
  const frames: Frame[] = [];
  try {
    for (const chunk of chunks) frames.push(...decoder.push(chunk));
    decoder.finish();
    return { frames, failure: undefined };
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    return { frames, failure: error };
  }
}

function cut(bytes: Buffer, sizes: number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let at = 0;
  for (let index = 0; at < bytes.length; index++) {
    const size = sizes[index % sizes.length] ?? 1;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

function rawFrame(type: number, payload: Uint8Array | string, length = payload.length): Buffer {
  const header = Buffer.alloc(5);
  header[0] = type;
  header.writeUInt32BE(length, 1);
  return Buffer.concat([header, Buffer.from(payload)]);
}

describe('frames', () => {
  it.each(ONE_OF_EACH)('H2: a $type frame comes out as it went in', (frame) => {
    expect(decodeAll([encoded([frame])])).toEqual({ frames: [frame], failure: undefined });
  });

  it('H2: however the stream is cut, the frames are the same', () => {
    const bytes = encoded(ONE_OF_EACH);
    expect(decodeAll(cut(bytes, [1])).frames).toEqual(ONE_OF_EACH);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40_000 }), { minLength: 1, maxLength: 8 }), (sizes) => {
        expect(decodeAll(cut(bytes, sizes))).toEqual({ frames: ONE_OF_EACH, failure: undefined });
      }),
      { seed: SEED, numRuns: 60 },
    );
  });

  it('H2: any bytes, however long, arrive unchanged and in pieces of at most 64 KiB', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 300_000 }), fc.nat(), (length, salt) => {
        const bytes = Buffer.alloc(length, `${salt}-`);
        const { frames } = decodeAll([encoded([{ type: 'data', bytes }])]);
        const pieces = frames.map((frame) => (frame.type === 'data' ? frame.bytes : Buffer.alloc(0)));
        expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
        expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(PIECE_BYTES);
      }),
      { seed: SEED, numRuns: 30 },
    );
  });

  it('rule 7: a header that announces more than its type allows is refused before any payload arrives', () => {
    const tooLong = [
      rawFrame(4, '', MAX_PAYLOAD_BYTES + 1),
      rawFrame(2, '', 0xffff_ffff),
      rawFrame(1, '', 16 * 1024 + 1),
      rawFrame(16, '', 1),
    ];
    for (const header of tooLong) expect(() => new FrameDecoder().push(header)).toThrow(/are allowed/);
  });

  it('rule 7: a frame that is too long is refused by its sender', () => {
    const frame: Frame = { type: 'control', value: 'x'.repeat(MAX_PAYLOAD_BYTES) };
    expect(() => encodeFrame(frame)).toThrow(WireError);
  });

  it.each([
    ['unknown type', rawFrame(99, '')],
    ['type 0', rawFrame(0, '')],
    ['text of an error message', Buffer.from('OCI runtime exec failed: no such file')],
    ['short ack', rawFrame(7, 'ab')],
    ['terminal without columns', rawFrame(8, Buffer.from([0, 0, 0, 5]))],
    ['broken JSON', rawFrame(3, '{"answer":')],
    ['JSON of another shape', rawFrame(3, '{"answer":"maybe"}')],
    ['invalid UTF-8 in JSON', rawFrame(15, Buffer.from([0x22, 0xff, 0x22]))],
    ['signal that is none', rawFrame(9, '{"signal":"SIGSTOP"}')],
    ['bottomless JSON', rawFrame(3, '['.repeat(500_000))],
  ])('H2: %s is a WireError', (_name, bytes) => {
    expect(decodeAll([bytes]).failure).toBeInstanceOf(WireError);
  });

  it('H2: good frames before a malformed one still come out, then the decoder stays broken', () => {
    const decoder = new FrameDecoder();
    const bytes = Buffer.concat([encoded([{ type: 'bye' }]), rawFrame(99, '')]);
    expect(decoder.push(bytes)).toEqual([{ type: 'bye' }]);
    expect(decoder.failure).toBeInstanceOf(WireError);
    expect(() => decoder.push(encoded([{ type: 'bye' }]))).toThrow(WireError);
  });

  it('H2: a stream that ends inside a frame is told apart from one that ends between frames', () => {
    const bytes = encoded([OPEN]);
    for (const length of [1, 4, 5, bytes.length - 1]) {
      expect(decodeAll([bytes.subarray(0, length)]).failure?.message).toMatch(/middle of a frame/);
    }
    expect(decodeAll([]).failure).toBeUndefined();
  });

  it('H2 fuzz: garbage is refused or waited for, never a crash and never a frame out of bounds', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 6 }), (chunks) => {
        const { frames, failure } = decodeAll(chunks.map((chunk) => Buffer.from(chunk)));
        const total = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
        expect(frames.length * 5).toBeLessThanOrEqual(total);
        expect(failure === undefined || failure instanceof WireError).toBe(true);
      }),
      { seed: SEED, numRuns: 2_000 },
    );
  });

  it('H2 fuzz: flipped bits and lost ends of a real stream give other frames or a WireError, nothing else', () => {
    const bytes = encoded(ONE_OF_EACH.filter((frame) => !('bytes' in frame && frame.bytes.length > 4_000)));
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: bytes.length * 8 - 1 }), { maxLength: 4 }),
        fc.nat({ max: bytes.length }),
        fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 5 }),
        (flips, length, sizes) => {
          const damaged = Buffer.from(bytes);
          for (const flip of flips) damaged[flip >> 3] = damaged.readUInt8(flip >> 3) ^ (1 << (flip & 7));
          const whole = decodeAll([damaged.subarray(0, length)]);
          const pieces = decodeAll(cut(damaged.subarray(0, length), sizes));
          expect(pieces.frames).toEqual(whole.frames);
          expect(pieces.failure?.message).toEqual(whole.failure?.message);
        },
      ),
      { seed: SEED, numRuns: 500 },
    );
  });

  it('H2: names from the prototype in a frame change nothing', () => {
    const payload = '{"__proto__":{"polluted":true},"constructor":1}';
    decodeAll([rawFrame(15, payload)]);
    expect('polluted' in {}).toBe(false);
  });
});
