import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { collectConfig, putConfig } from '../../../src/cli/sandbox/moving/config-files.ts';
import { harmlessLogin } from '../../../src/cli/sandbox/moving/leaving-login.ts';
import { putNewFile } from '../../../src/cli/sandbox/moving/put-new-file.ts';
import { mergeEntries } from '../../../src/container/transfer/merge-entries.ts';
import { type DirectoryHandle, openDirectory } from '../../../src/lib/directory-handle.ts';

let here: string;
let top: DirectoryHandle;
beforeEach(() => {
  here = mkdtempSync(join(tmpdir(), 'moving-'));
  mkdirSync(join(here, 'top'));
  top = openDirectory(join(here, 'top'));
});
afterEach(() => {
  top.close();
  rmSync(here, { recursive: true, force: true });
});

describe('S15: a login that leaves a sandbox', () => {
  it('S15: holds no command, however it is hidden, and no environment', () => {
    const entries = {
      plain: { type: 'api_key', key: 'sk-1' },
      command: { type: 'api_key', key: '!touch /tmp/x' },
      spaced: { type: 'api_key', key: ' !touch /tmp/x' },
      deep: { type: 'oauth', access: 'a', extra: { list: ['!touch /tmp/x'] } },
      environment: { type: 'api_key', key: 'sk-2', env: { NODE_OPTIONS: '--require /tmp/x' } },
    };
    const { content = '', left } = harmlessLogin(JSON.stringify(entries));
    expect(JSON.parse(content)).toEqual({ plain: entries.plain });
    expect(left.map(({ file }) => file)).toEqual(
      ['command', 'spaced', 'deep', 'environment'].map((name) => `auth.json, ${name}`),
    );
  });

  it('S15: keeps its bytes where nothing is left out, and what is no JSON stays behind', () => {
    const text = '{ "a": {"type":"api_key",\n"key":"$KEY"} }';
    expect(harmlessLogin(text)).toEqual({ content: text, left: [] });
    expect(harmlessLogin('{ sk-secret').content).toBeUndefined();
    expect(JSON.stringify(harmlessLogin('{ sk-secret'))).not.toContain('sk-secret');
  });
});

describe('S15: a login that comes to one', () => {
  it('S15: adds what is missing; what both have gives way only with replace', () => {
    const [before, after] = ['{"a":{"key":"1"},"b":{"key":"2"}}', '{"b":{"key":"x"},"c":{"key":"3"}}'];
    const kept = mergeEntries(before, after, false);
    expect(JSON.parse(kept.text ?? '')).toEqual({ a: { key: '1' }, b: { key: '2' }, c: { key: '3' } });
    expect(kept.differing).toEqual(['b']);
    expect(JSON.parse(mergeEntries(before, after, true).text ?? '')).toMatchObject({ b: { key: 'x' } });
    expect(mergeEntries('{}', after, false).text).toBe(after);
    expect(mergeEntries('not JSON', after, false).text).toBeUndefined();
    expect(mergeEntries(after, after, false)).toMatchObject({ text: undefined, differing: [] });
  });
});

describe('S15: files of the configuration', () => {
  it('S15: no link is followed on either side, and nothing is written over', () => {
    mkdirSync(join(here, 'source/skills/a'), { recursive: true });
    mkdirSync(join(here, 'elsewhere'));
    writeFileSync(join(here, 'source/skills/a/SKILL.md'), 'skill');
    writeFileSync(join(here, 'source/AGENTS.md'), 'theirs');
    symlinkSync('/etc/passwd', join(here, 'source/SYSTEM.md'));
    symlinkSync('/etc', join(here, 'source/skills/etc'));
    const source = openDirectory(join(here, 'source'));
    const { files, left } = collectConfig(source);
    source.close();
    expect(files.map(({ path }) => path.join('/'))).toEqual(['AGENTS.md', 'skills/a/SKILL.md']);
    expect(left.map(({ file }) => file)).toEqual(['SYSTEM.md', 'skills/etc']);
    writeFileSync(top.at('AGENTS.md'), 'mine');
    symlinkSync(join(here, 'elsewhere'), top.at('skills'));
    expect(putConfig(top, files).map(({ outcome }) => outcome)).toEqual(['kept', 'kept']);
    expect(readFileSync(top.at('AGENTS.md'), 'utf8')).toBe('mine');
    expect(readdirSync(join(here, 'elsewhere'))).toEqual([]);
  });

  it('S15: what a killed write left is tidied up by the next', () => {
    // The same name each time: seen here, as the next call finds it.
    const used: string[] = [];
    const watched = {
      ...top,
      at(name: string): string {
        used.push(name);
        return top.at(name);
      },
    };
    putNewFile(watched, 'a', Buffer.from('x'), 0o600);
    rmSync(top.at('a'));
    const fresh = used.find((name) => name.startsWith('.pi-sandbox-tmp-')) ?? '';
    writeFileSync(top.at(fresh), 'half');
    putNewFile(top, 'a', Buffer.from('whole'), 0o600);
    expect(readdirSync(join(here, 'top'))).toEqual(['a']);
    expect(putNewFile(top, 'a', Buffer.from('whole'), 0o600)).toEqual({ outcome: 'there' });
    expect(putNewFile(top, 'a', Buffer.from('other'), 0o600)).toMatchObject({ outcome: 'kept' });
  });
});
