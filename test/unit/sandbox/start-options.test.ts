import { expect, it } from 'vitest';
import { aliasOf } from '../../../src/cli/sandbox/start-options.ts';
import { UsageError } from '../../../src/lib/errors.ts';

it('S14: --name is a name as docker allows it, never a path or control characters', () => {
  expect(aliasOf({ build: true, name: 'shop_2.test' })).toBe('shop_2.test');
  expect(aliasOf({ build: true })).toBeUndefined();
  for (const name of ['', '.', '-x', 'a/b', 'a b', '\u001b[2J', 'x'.repeat(64)]) {
    expect(() => aliasOf({ build: true, name })).toThrow(UsageError);
  }
});
