import { expect, it } from 'vitest';
import { jsonText } from '../../../src/lib/json-text.ts';

it('S15: --json output has no character that a terminal obeys, and is the same value', () => {
  const controls = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).join('');
  const value = { version: 1, name: `${controls}\u2028\u2029\u202eä€😀`, 'key\u009b': ['\ud800'] };
  const text = jsonText(value);
  expect(text).not.toMatch(/[\p{Cc}\p{Cs}\u2028\u2029\u202e]/u);
  expect(text).toContain('\\u009b');
  expect(text).toContain('ä€😀');
  expect(JSON.parse(text)).toEqual(value);
});

it('S15: --json output is indented for people where it is one document', () => {
  expect(jsonText({ a: '\u0085' }, 2)).toBe('{\n  "a": "\\u0085"\n}');
});
