import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type JsonLine, jsonLineReader } from '../../../src/lib/json-line-reader.ts';

const MAX = 64;

function readIn(chunks: Buffer[]): JsonLine[] {
  const reader = jsonLineReader({ maxLineBytes: MAX, headBytes: 8 });
  return [...chunks.flatMap((chunk) => [...reader.push(chunk)]), ...reader.end()];
}

/** Values, text that is none, bytes that are no UTF-8, empty and overlong lines; the last one is not always ended. */
const stream = fc
  .tuple(
    fc.array(
      fc.oneof(
        fc.json().map((text) => Buffer.from(text)),
        fc.string({ unit: 'binary' }).map((text) => Buffer.from(JSON.stringify(`\u2028${text}`))),
        fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes)),
        fc.nat(100).map((length) => Buffer.from(`"${'x'.repeat(length)}"`)),
      ),
      { maxLength: 8 },
    ),
    fc.constantFrom('', '\n'),
  )
  .map(([lines, end]) =>
    Buffer.concat([...lines.flatMap((line) => [line, Buffer.from('\n')]).slice(0, -1), Buffer.from(end)]),
  );

describe('jsonLineReader', () => {
  it('J4: however the bytes are cut into chunks, the lines are the same', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(20), { minLength: 1 }), (bytes, sizes) => {
        const chunks: Buffer[] = [];
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const size = (sizes[i % sizes.length] ?? 0) + (i % sizes.length === 0 ? 1 : 0);
          chunks.push(bytes.subarray(at, at + size));
          at += size;
        }
        expect(readIn(chunks)).toEqual(readIn([bytes]));
      }),
      { numRuns: 500, seed: 7 },
    );
  });

  it('J4: an overlong line is told by its beginning, and the bound itself is allowed', () => {
    const lines = readIn([
      Buffer.from(`"${'x'.repeat(MAX - 2)}"\n`),
      Buffer.from(`{"type":"${'x'.repeat(MAX)}"}\n1\n`),
    ]);
    expect(lines).toEqual([
      { kind: 'entry', line: 1, value: 'x'.repeat(MAX - 2) },
      { kind: 'problem', line: 2, reason: 'longer than 64 bytes', head: '{"type":' },
      { kind: 'entry', line: 3, value: 1 },
    ]);
  });

  it('rule 7: a line that comes byte by byte costs about its length', () => {
    const reader = jsonLineReader({ maxLineBytes: 4 * 1024 * 1024 });
    const before = heldBytes();
    for (let i = 0; i < 512 * 1024; i++) [...reader.push(Buffer.from('x'))];
    expect(heldBytes() - before).toBeLessThan(10 * 1024 * 1024);
    expect([...reader.push(Buffer.from('\n'))]).toMatchObject([{ kind: 'problem', line: 1 }]);
  });
});

/** What is really held, without what only waits for its collection. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
