import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  entriesOfText,
  normalized,
  withEntry,
  withoutEntry,
  withReplaced,
} from '../../../src/agent-dir/memory/profile.ts';
import { renderIndex, renderShards, SHARD_BYTES, shardText } from '../../../src/agent-dir/memory/shards.ts';

const WRITTEN = `# About me

I write TypeScript.
And a little Rust.

- likes tabs
- works in Berlin,
  in the mornings

  and seldom on Fridays
- likes tea

\`\`\`sh
- no item
# no heading
\`\`\`
`;

/** Markdown as people write it, and text of any other kind. */
const text = fc.oneof(
  fc
    .array(
      fc.constantFrom(
        '- one',
        '- two',
        '  more',
        '',
        '# Head',
        'plain',
        '```',
        'ünï 🦊',
        '1. first',
        '> said',
      ),
    )
    .map((lines) => lines.join('\n')),
  fc.string({ unit: 'grapheme', maxLength: 400 }).map((value) => value.replaceAll('\0', '')),
);

describe('W11: entries of a profile', () => {
  test('W11: a list item with what is indented below it is one, a paragraph and a fenced block too', () => {
    expect(entriesOfText(WRITTEN).map((entry) => entry.trim())).toEqual([
      '# About me',
      'I write TypeScript.\nAnd a little Rust.',
      '- likes tabs',
      '- works in Berlin,\n  in the mornings\n\n  and seldom on Fridays',
      '- likes tea',
      '```sh\n- no item\n# no heading\n```',
    ]);
  });

  test('W11: together they are the text again, whatever that is', () => {
    fc.assert(fc.property(text, (value) => entriesOfText(value).join('') === value));
  });

  test('W11: what is added becomes a list item at the end', () => {
    expect(withEntry('', 'likes tea')).toBe('- likes tea\n');
    expect(withEntry('- likes tea\n', 'works\nin Berlin')).toBe('- likes tea\n- works\n  in Berlin\n');
    expect(withEntry('# Me\n', 'likes tea')).toBe('# Me\n\n- likes tea\n');
    expect(withEntry('- likes tea\n', '## Work')).toBe('- likes tea\n\n## Work\n');
  });

  test('W11: what is there already is not added again', () => {
    expect(withEntry(WRITTEN, 'likes  tea')).toBe(WRITTEN);
    expect(withEntry(WRITTEN, 'works in Berlin, in the mornings and seldom on Fridays')).toBe(WRITTEN);
  });

  test('W11: a fence that was left open takes in nothing that is added later', () => {
    for (const open of ['```js\nfoo()', 'use:\n```js\nfoo()', '- ~~~\n  foo()']) {
      const both = withEntry(withEntry('', open), 'likes tea');
      expect(withoutEntry(both, 'likes tea').removed).toBe('- likes tea');
    }
    expect(withEntry('', '- ~~~\n  foo()')).toBe('- ~~~\n  foo()\n');
    const beside = '- use\n```md\n- ```\n- no item\n```\n';
    expect(entriesOfText(beside)).toEqual([beside]);
    const byHand = '- use:\n  ```js\n  foo()\n- likes tea\n- likes cats\n';
    expect(withoutEntry(byHand, 'likes tea').removed).toBe('- likes tea');
  });

  test('W11: a text that was added is replaced and removed by that text', () => {
    const given = 'works\nin  Berlin';
    const added = withEntry('- likes tea\n', given);
    expect(withReplaced(added, given, 'works in Bonn')).toBe('- likes tea\n- works in Bonn\n');
    expect(withReplaced(`${added}- works in Bonn\n`, given, 'works in Bonn')).not.toContain('Berlin');
    expect(withReplaced('1. likes  tea\n2. b\n', 'likes tea', 'x\ny')).toBe('1. x\n  y\n2. b\n');
    expect(withoutEntry(added, given).removed).toBe('- works\n  in  Berlin');
  });

  test('W11: what would be no text in a file is not put into it', () => {
    expect(() => withEntry('', 'a\0b')).toThrow('a zero byte');
    expect(() => withReplaced('- a\n', 'a', '\0')).toThrow('a zero byte');
    expect(withEntry('', 'a\ud800')).toBe('- a\ufffd\n');
  });

  test('W11: nothing cannot be added', () => {
    expect(() => withEntry('', ' \n ')).toThrow('there is nothing to remember');
    expect(() => withEntry('', '- ')).toThrow('there is nothing to remember');
  });

  test('W11: a text is replaced where it stands', () => {
    expect(withReplaced(WRITTEN, 'a little Rust', 'much Rust')).toBe(WRITTEN.replace('a little', 'much'));
  });

  test('W11: a replacement may hold what a pattern would read as its own', () => {
    expect(withReplaced('- a\n', 'a', "$& $1 $' \\n")).toBe("- $& $1 $' \\n\n");
  });

  test('W11: an entry that says exactly the text is meant before one that only holds it', () => {
    const profile = '- likes tea\n- likes tea with milk\n';
    expect(withReplaced(profile, 'likes tea', 'likes coffee')).toBe(
      '- likes coffee\n- likes tea with milk\n',
    );
    expect(withoutEntry(profile, 'likes tea').profile).toBe('- likes tea with milk\n');
  });

  test('W11: a text that several entries hold is refused, and so is one that none holds', () => {
    expect(() => withReplaced(WRITTEN, 'likes', 'hates')).toThrow('2 entries of the profile hold "likes"');
    expect(() => withoutEntry(WRITTEN, 'likes')).toThrow('2 entries of the profile hold "likes"');
    expect(() => withoutEntry(WRITTEN, 'coffee')).toThrow('the profile does not hold "coffee"');
    expect(() => withReplaced(WRITTEN, 'coffee', 'tea in a cup')).toThrow(
      'the profile does not hold "coffee"',
    );
  });

  test('W11: a replacement that was done before is done', () => {
    const once = withReplaced(WRITTEN, 'likes tea', 'likes coffee');
    expect(withReplaced(once, 'likes tea', 'likes coffee')).toBe(once);
  });

  test('W11: a text that reaches over several entries can be replaced', () => {
    expect(withReplaced('- a\n- b\n- c\n', '- a\n- b', '- ab')).toBe('- ab\n- c\n');
  });

  test('W11: the whole entry goes, with all that is indented below it', () => {
    const { profile, removed } = withoutEntry(WRITTEN, 'Berlin');
    expect(removed).toBe('- works in Berlin,\n  in the mornings\n\n  and seldom on Fridays');
    expect(profile).toBe(WRITTEN.replace(`${removed}\n`, ''));
  });
});

describe('W11: shards', () => {
  const profile = Array.from({ length: 300 }, (_, n) => `- fact ${n}: ${'x'.repeat(n % 120)}\n`).join('');

  test('W11: hold the profile whole, in order, each within its bound', () => {
    const shards = renderShards(profile);
    expect(shards.length).toBeGreaterThan(2);
    expect(shards.map(shardText).join('')).toBe(profile);
    for (const shard of shards) expect(Buffer.byteLength(shard)).toBeLessThanOrEqual(SHARD_BYTES);
  });

  test('W11: hold any text whole, also a line that is longer than a shard', () => {
    const long = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).map((word) => word.repeat(700));
    const value = fc
      .array(fc.oneof(text, long), { maxLength: 12 })
      .map((parts) => normalized(parts.join('\n')));
    fc.assert(
      fc.property(value, (written) => {
        const shards = renderShards(written);
        expect(shards.map(shardText).join('')).toBe(written);
        for (const shard of shards) expect(Buffer.byteLength(shard)).toBeLessThanOrEqual(SHARD_BYTES);
      }),
      { numRuns: 60 },
    );
  });

  test('W11: are the same for the same profile, and so is the index', () => {
    expect(renderShards(profile)).toEqual(renderShards(renderShards(profile).map(shardText).join('')));
    expect(renderIndex(profile)).toBe(renderIndex(profile));
    expect(renderIndex(profile)).toContain(
      '- [user-preferences-2.okf.md](user-preferences-2.okf.md): - fact',
    );
  });

  test('W11: one that a person has stripped of its head is all text', () => {
    expect(shardText('- a fact\n')).toBe('- a fact\n');
  });
});
