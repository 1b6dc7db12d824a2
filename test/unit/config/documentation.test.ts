import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { DOCUMENTED_KEYS, loadConfig } from '../../../src/cli/config/index.ts';

const read = (path: string) => readFile(new URL(`../../../${path}`, import.meta.url), 'utf8');
const sorted = (keys: Iterable<string>) => [...new Set(keys)].sort();

describe('the documentation of the keys', () => {
  it('S6: .env.example lists exactly the keys that exist, each commented out', async () => {
    const example = await read('.env.example');
    const keys = [...example.matchAll(/^# ?([A-Z][A-Z_]*(?:<ID>[A-Z_]*)?)=/gm)].map(([, key]) => key ?? '');
    expect(sorted(keys)).toEqual(sorted(DOCUMENTED_KEYS));
    expect(keys).toHaveLength(DOCUMENTED_KEYS.length);
    expect(example).not.toMatch(/^[^#\n]/m);
  });

  it('S6: docs/configuration.md has one row for each', async () => {
    const text = await read('docs/configuration.md');
    const rows = [...text.matchAll(/^\| `([A-Z_]+(?:<ID>[A-Z_]+)?)` +\|/gm)].map(([, key]) => key ?? '');
    expect(sorted(rows)).toEqual(sorted(DOCUMENTED_KEYS));
    expect(rows).toHaveLength(DOCUMENTED_KEYS.length);
  });

  it('S6: every example value is accepted', async () => {
    const example = await read('.env.example');
    const env: Record<string, string> = {};
    for (const [, key = '', value = ''] of example.matchAll(/^# ?([A-Z][A-Z_<>ID]*)=(.*)$/gm)) {
      env[`PI_SANDBOX_${key.replace('<ID>', 'WORK')}`] = value.replace(/^"(.*)"$/, '$1');
    }
    const config = await loadConfig({ env, home: tmpdir() });
    expect(config.warnings).toEqual([]);
  });
});
