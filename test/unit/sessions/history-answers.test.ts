import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { notSilent, readAnswer, readMarkedAnswers } from '../../../src/cli/sandbox/history-answers.ts';
import { LimitError, OperationError, TimeoutError } from '../../../src/lib/errors.ts';
import { HISTORY_LIMITS } from '../../../src/wire/index.ts';

const FOUND = { type: 'found', file: 'a.jsonl', id: 'a', trashed: false };

function saying(...lines: (object | string)[]): Readable {
  return Readable.from(
    lines.map((line) => Buffer.from(typeof line === 'string' ? line : `${JSON.stringify(line)}\n`)),
  );
}

describe('rule 8: what answers for a history may be anything in the sandbox', () => {
  it('S13: lines of the agreed form are read, however they are cut', async () => {
    const text = `${JSON.stringify(FOUND)}\n${JSON.stringify({ type: 'end' })}\n`;
    const bytes = [...text].map((character) => Buffer.from(character));
    expect(await readAnswer(Readable.from(bytes))).toEqual([FOUND, { type: 'end' }]);
  });

  it.each([
    ['no JSON', 'hello\n'],
    ['of another type', { type: 'shell', command: 'rm' }],
    ['without a field', { type: 'found', file: 'a.jsonl' }],
    ['with a text that is too long', { ...FOUND, id: 'x'.repeat(HISTORY_LIMITS.text + 1) }],
    ['with a date that is none', { type: 'trashed', lastChange: 'yesterday' }],
    ['with a number that is none', { type: 'skipped', lines: -1 }],
  ])('S13: a line %s fails the command, with what to do', async (_what, line) => {
    await expect(readAnswer(saying(line))).rejects.toThrow(OperationError);
  });

  it('S13: fields that nobody asked for are dropped', async () => {
    expect(await readAnswer(saying({ ...FOUND, __proto__: { x: 1 }, more: 1 }))).toEqual([FOUND]);
  });

  it('S13: a line without an end is not kept until the memory is full', async () => {
    const piece = 'x'.repeat(HISTORY_LIMITS.line / 4);
    const endless = Readable.from(
      (function* () {
        for (;;) yield Buffer.from(piece);
      })(),
    );
    await expect(readAnswer(endless)).rejects.toThrow(LimitError);
  });

  it('S13: lines without an end are cut off', async () => {
    const line = `${JSON.stringify({ type: 'skipped', lines: 1 })}\n`.repeat(1_000);
    const endless = Readable.from(
      (function* () {
        for (;;) yield Buffer.from(line);
      })(),
    );
    await expect(readAnswer(endless)).rejects.toThrow(LimitError);
  });

  it('S13: silence is not waited for', async () => {
    const silent = new Readable({ read: () => undefined });
    const read = async () => {
      for await (const _ of notSilent(silent, 50));
    };
    await expect(read()).rejects.toThrow(TimeoutError);
  });

  it('S13: a helper marks whose answer begins and how it ended', async () => {
    const lines = [];
    const marked = saying({ type: 'domain', domain: 'work' }, FOUND, { type: 'exit', code: 0 });
    for await (const line of readMarkedAnswers(marked)) lines.push(line);
    expect(lines).toEqual([{ type: 'domain', domain: 'work' }, FOUND, { type: 'exit', code: 0 }]);
  });

  it('S13: in a helper a line of no known form fails the domain it stands in, and no other', async () => {
    const lines = [];
    const marked = saying(
      { type: 'domain', domain: 'work' },
      { type: 'shell' },
      { type: 'domain', domain: 'own' },
      FOUND,
    );
    for await (const line of readMarkedAnswers(marked)) lines.push(line.type);
    expect(lines).toEqual(['domain', 'failed', 'domain', 'found']);
  });

  it('S13: a sandbox that is asked alone cannot speak for another domain', async () => {
    await expect(readAnswer(saying({ type: 'domain', domain: 'private' }))).rejects.toThrow(OperationError);
  });
});
