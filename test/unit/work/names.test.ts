import { existsSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { acquireRun, InvalidWorkNameError, isWorkSegment, workSegment } from '../../../src/work/index.ts';
import { makeScene } from './scene.ts';

describe('names', () => {
  it.each(['a', '0', 'shop', 'a.b', 'a-_b', 'x'.repeat(64), 'com0', 'com10', 'console', 'a.con', 'nullable'])(
    'W2: %j is one',
    (name) => {
      expect(workSegment('tenant', name)).toBe(name);
    },
  );

  it.each([
    ...[
      '',
      '.',
      '..',
      'a/b',
      'a\\b',
      '/a',
      'a\0',
      'a\n',
      'a b',
      'é',
      '.a',
      '-a',
      '_a',
      'a.',
      'a..',
      'x'.repeat(65),
    ],
    ...[
      'con',
      'prn',
      'aux',
      'nul',
      'clock$',
      'com1',
      'com9',
      'lpt1',
      'lpt9',
      'con.txt',
      'nul.tar.gz',
      'aux.',
    ],
    ...['Shop', 'shoP', 'CON', 'ſ', 'a:b', 'a*', 'a\u0301'],
  ])('W2: %j is none', (name) => {
    expect(() => workSegment('tenant', name)).toThrow(InvalidWorkNameError);
  });

  it('W2: whatever is one names a single directory on every platform', () => {
    const reserved = new Set(
      ['con', 'prn', 'aux', 'nul', 'clock$', ...'123456789'].flatMap((stem) =>
        stem.length > 1 ? [stem] : [`com${stem}`, `lpt${stem}`],
      ),
    );
    const character = fc.constantFrom(...'abcz019._-CN$/\\ :é\u0000');
    const text = fc.oneof(
      fc.string({ unit: character, maxLength: 70 }),
      fc.constantFrom(...reserved, 'con.x', 'nul.'),
    );
    fc.assert(
      fc.property(text, (name) => {
        const portable =
          /^[a-z0-9][a-z0-9._-]{0,63}$/.test(name) &&
          !name.endsWith('.') &&
          !reserved.has(name.split('.')[0] ?? '');
        expect(isWorkSegment(name)).toBe(portable);
      }),
      { seed: 2, numRuns: 2_000 },
    );
  });

  it.each([
    { category: 'Jobs', tenant: 'a' },
    { category: 'jobs', tenant: '../a' },
    { category: 'jobs', tenant: 'a', runId: 'nul' },
  ])('W2: nothing is made for a request with another name: %j', async (request) => {
    const { root } = makeScene();
    await expect(acquireRun(root, request)).rejects.toThrow(InvalidWorkNameError);
    expect(existsSync(root)).toBe(false);
  });
});
