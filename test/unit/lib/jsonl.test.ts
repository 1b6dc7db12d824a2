import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UnsafeFileError } from '../../../src/lib/bounded-read.ts';
import { FileError } from '../../../src/lib/file-error.ts';
import {
  appendJsonLine,
  type JsonLine,
  type JsonLinesOptions,
  readJsonLines,
} from '../../../src/lib/jsonl.ts';
import { startChild } from './child.ts';
import { seeded, smallDisk, temporaryDirectory } from './temporary.ts';

async function read(path: string, options?: JsonLinesOptions): Promise<JsonLine[]> {
  const lines: JsonLine[] = [];
  for await (const line of readJsonLines(path, options)) lines.push(line);
  return lines;
}

async function readText(content: string | Buffer, options?: JsonLinesOptions): Promise<JsonLine[]> {
  const path = join(temporaryDirectory(), 'log.jsonl');
  writeFileSync(path, content);
  return read(path, options);
}

function entries(lines: JsonLine[]): unknown[] {
  return lines.flatMap((line) => (line.kind === 'entry' ? [line.value] : []));
}

describe('readJsonLines', () => {
  it('rule 2: gives the values of good lines, and skips and reports the others with their number', async () => {
    const content = Buffer.concat([
      Buffer.from('{"a":1}\n\n{"a":\n'),
      Buffer.from([0x22, 0xff, 0x22, 0x0a]),
      Buffer.from('\u0000\u0000\u0000\n"fünf"\r\n{"torn":'),
    ]);
    expect(await readText(content)).toEqual([
      { kind: 'entry', line: 1, value: { a: 1 } },
      { kind: 'problem', line: 3, reason: expect.stringMatching(/^not JSON/) },
      { kind: 'problem', line: 4, reason: 'not valid UTF-8' },
      { kind: 'problem', line: 5, reason: expect.stringMatching(/^not JSON/) },
      { kind: 'entry', line: 6, value: 'fünf' },
      { kind: 'problem', line: 7, reason: expect.stringMatching(/^torn/) },
    ]);
  });

  it('rule 2: a last line that lacks only its newline counts, a number cut short does not', async () => {
    expect(entries(await readText('1\n{"a":2}'))).toEqual([1, { a: 2 }]);
    expect(await readText('1\n12')).toMatchObject([{ kind: 'entry' }, { kind: 'problem', line: 2 }]);
  });

  it('rule 2: U+2028 and U+2029 are text, only LF ends a line', async () => {
    expect(entries(await readText('"a\u2028b\u2029c"\n'))).toEqual(['a\u2028b\u2029c']);
  });

  it('rule 7: an overlong line is skipped and reported, and the next one read', async () => {
    const content = `"${'x'.repeat(200_000)}"\n"next"\n"${'y'.repeat(200_000)}`;
    expect(await readText(content, { maxLineBytes: 100_000 })).toEqual([
      { kind: 'problem', line: 1, reason: 'longer than 100000 bytes' },
      { kind: 'entry', line: 2, value: 'next' },
      { kind: 'problem', line: 3, reason: 'longer than 100000 bytes' },
    ]);
    expect(entries(await readText(`"${'x'.repeat(98)}"\n`, { maxLineBytes: 100 }))).toHaveLength(1);
  });

  it('rule 7: a bound on the whole file is said, never silent', async () => {
    const lines = await readText('1\n2\n3\n', { maxBytes: 4 });
    expect(entries(lines)).toEqual([1, 2]);
    expect(lines.at(-1)).toEqual({ kind: 'problem', line: 3, reason: 'only the first 4 bytes were read' });
    expect(await readText('1\n2\n', { maxBytes: 4 })).toHaveLength(2);
  });

  it('rule 8: a fifo does not hang it, a missing file has its code, a link of ours is followed', async () => {
    const directory = temporaryDirectory();
    execFileSync('mkfifo', [join(directory, 'fifo')]);
    await expect(read(join(directory, 'fifo'))).rejects.toThrow(UnsafeFileError);
    await expect(read(join(directory, 'none'))).rejects.toMatchObject({ code: 'ENOENT' });
    writeFileSync(join(directory, 'log'), '1\n');
    symlinkSync('log', join(directory, 'link'));
    expect(entries(await read(join(directory, 'link')))).toEqual([1]);
  });

  it('rule 2 fuzz: damage costs only the lines it touches', async () => {
    const values = Array.from({ length: 40 }, (_, index) => ({ index, text: 'ä'.repeat(index) }));
    const path = join(temporaryDirectory(), 'log.jsonl');
    const bytes = Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''));
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.nat(255), async (at, byte) => {
        const damaged = Buffer.from(bytes);
        damaged[at] = byte;
        writeFileSync(path, damaged);
        const good = entries(await read(path)).map((value) => JSON.stringify(value));
        const lost = values.filter((value) => !good.includes(JSON.stringify(value)));
        // A newline that is overwritten joins two lines.
        expect(lost.length).toBeLessThanOrEqual(2);
      }),
      { seed: 11, numRuns: 300 },
    );
  });

  it('rule 2 fuzz: a file cut anywhere keeps every line before the cut', async () => {
    const path = join(temporaryDirectory(), 'log.jsonl');
    const content = '{"a":1}\n{"b":"\u2028"}\n[3]\n';
    for (let length = Buffer.byteLength(content); length >= 0; length--) {
      writeFileSync(path, content);
      truncateSync(path, length);
      const whole = Buffer.from(content).subarray(0, length).toString('utf8').split('\n').length - 1;
      expect(entries(await read(path)).length).toBeGreaterThanOrEqual(whole);
    }
  });
});

describe('appendJsonLine', () => {
  it('rule 2: makes the file 0600 and adds one line each', async () => {
    const path = join(temporaryDirectory(), 'log.jsonl');
    await appendJsonLine(path, { a: 1 });
    await appendJsonLine(path, 'two\nlines', { sync: true });
    expect(readFileSync(path, 'utf8')).toBe('{"a":1}\n"two\\nlines"\n');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await expect(appendJsonLine(path, undefined)).rejects.toThrow(/undefined/);
  });

  it('rule 2: closes a torn last line first, so that only that one is lost', async () => {
    const path = join(temporaryDirectory(), 'log.jsonl');
    writeFileSync(path, '{"a":1}\n{"tor');
    await appendJsonLine(path, { b: 2 });
    expect(await read(path)).toMatchObject([
      { kind: 'entry', value: { a: 1 } },
      { kind: 'problem', line: 2 },
      { kind: 'entry', value: { b: 2 } },
    ]);
  });

  it('rule 2: writers in several processes do not mix their lines', async () => {
    const path = join(temporaryDirectory(), 'log.jsonl');
    const code = `const { appendJsonLine } = await import(lib('jsonl.ts'));
      for (let i = 0; i < 100; i++) await appendJsonLine(process.argv[1], { who: process.argv[2], i, text: 'x'.repeat(i * 50) });`;
    const children = ['a', 'b', 'c'].map((who) => startChild(code, path, who));
    expect(await Promise.all(children.map((child) => child.exit))).toEqual([0, 0, 0]);
    const lines = await read(path);
    expect(lines.filter((line) => line.kind === 'problem')).toEqual([]);
    expect(lines).toHaveLength(300);
  });

  it('rule 2: an appender killed at any moment costs at most its own last line', async () => {
    const path = join(temporaryDirectory(), 'log.jsonl');
    const random = seeded(2);
    let before = 0;
    for (let round = 0; round < 30; round++) {
      const child = startChild(
        `const { appendJsonLine } = await import(lib('jsonl.ts'));
         for (let i = 0; ; i++) {
           await appendJsonLine(process.argv[1], { i, text: 'y'.repeat(20_000) });
           if (i === 0) console.log('writing');
         }`,
        path,
      );
      await child.line();
      await sleep(random() * 10);
      child.process.kill('SIGKILL');
      await child.exit;
      await appendJsonLine(path, { after: round });
      const lines = await read(path);
      const after = entries(lines).length;
      expect(after).toBeGreaterThan(before);
      expect(lines.length - after).toBeLessThanOrEqual(round + 1);
      before = after;
    }
  }, 60_000);

  it('rule 2: a full disk is said, costs no earlier line, and the log goes on when there is space', async (context) => {
    const disk = smallDisk(64);
    if ('skip' in disk) return context.skip(disk.skip);
    const path = join(disk.path, 'log.jsonl');
    await appendJsonLine(path, { a: 1 });
    const failure = await appendJsonLine(path, 'x'.repeat(200_000)).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(FileError);
    expect(entries(await read(path))).toEqual([{ a: 1 }]);
    truncateSync(path, 20);
    await appendJsonLine(path, { b: 2 });
    expect(entries(await read(path))).toEqual([{ a: 1 }, { b: 2 }]);
  });

  it('rule 2: lines that pi wrote without us are left as they are', async () => {
    const path = join(temporaryDirectory(), 'log.jsonl');
    appendFileSync(path, '{"type":"session"}\n');
    await appendJsonLine(path, 1);
    expect(readFileSync(path, 'utf8')).toBe('{"type":"session"}\n1\n');
  });
});
