import { PassThrough, type Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { demux } from '../../../src/engine/demux.ts';

function frame(type: number, bytes: Uint8Array): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt8(type, 0);
  header.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([header, bytes]);
}

async function bytesOf(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Cuts bytes into pieces at the given places. */
function cut(bytes: Buffer, places: number[]): Buffer[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

const frames = fc.array(
  fc.record({ type: fc.constantFrom(1, 2), bytes: fc.uint8Array({ maxLength: 300 }) }),
  { maxLength: 20 },
);

describe('demux', () => {
  it('S14: whatever the chunks, each output gets exactly its bytes', async () => {
    await fc.assert(
      fc.asyncProperty(frames, fc.array(fc.nat(), { maxLength: 30 }), async (sent, places) => {
        const source = new PassThrough();
        const { stdout, stderr, ended } = demux(source);
        const results = Promise.all([bytesOf(stdout), bytesOf(stderr)]);
        for (const piece of cut(Buffer.concat(sent.map(({ type, bytes }) => frame(type, bytes))), places))
          source.write(piece);
        source.end();
        const [out, err] = await results;
        const expected = (type: number) =>
          Buffer.concat(sent.filter((one) => one.type === type).map((one) => one.bytes));
        expect(out.equals(expected(1))).toBe(true);
        expect(err.equals(expected(2))).toBe(true);
        expect(await ended).toEqual({ outcome: 'ended' });
      }),
      { numRuns: 150 },
    );
  });

  it('S14: a reader that pauses holds the engine back, and loses nothing', async () => {
    const source = new PassThrough({ highWaterMark: 64 * 1024 });
    const { stdout, stderr, ended } = demux(source);
    stderr.resume();
    const block = Buffer.alloc(64 * 1024, 7);
    let accepted = 0;
    const pump = async () => {
      for (let sent = 0; sent < 100; sent++) {
        if (!source.write(frame(1, block))) await new Promise((resolve) => source.once('drain', resolve));
        accepted++;
      }
      source.end();
    };
    const pumping = pump();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(accepted).toBeLessThan(20);
    expect((await bytesOf(stdout)).length).toBe(100 * block.length);
    await pumping;
    expect(await ended).toEqual({ outcome: 'ended' });
  });

  it('S14: an output that is destroyed does not hold up the other', async () => {
    const source = new PassThrough();
    const { stdout, stderr } = demux(source);
    stderr.destroy();
    const result = bytesOf(stdout);
    source.write(frame(2, Buffer.alloc(1024 * 1024)));
    source.end(frame(1, Buffer.from('on')));
    expect((await result).toString()).toBe('on');
  });

  it('S20: a connection that breaks within a frame is lost, not ended', async () => {
    const source = new PassThrough();
    const { stdout, ended } = demux(source);
    source.end(frame(1, Buffer.from('whole')).subarray(0, 10));
    expect((await ended).outcome).toBe('lost');
    await expect(bytesOf(stdout)).rejects.toThrow(/middle of a frame|closed/);
  });

  it('S20: a destroyed connection is lost', async () => {
    const source = new PassThrough();
    const { ended } = demux(source);
    source.destroy();
    expect((await ended).outcome).toBe('lost');
  });

  it('S20: text where frames belong is an error that shows it', async () => {
    const source = new PassThrough();
    const { ended } = demux(source);
    source.end('no such container\n');
    const end = await ended;
    expect(end.outcome === 'lost' && end.error.message).toContain('no such container');
  });
});
