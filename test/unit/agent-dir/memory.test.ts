import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type AgentDir,
  editMemory,
  memoryBudget,
  promptText,
  readMemory,
} from '../../../src/agent-dir/index.ts';
import { POINTER, shardText } from '../../../src/agent-dir/memory/shards.ts';
import { takeLock } from '../../../src/lib/kernel-lock.ts';
import { agentDirWith, scratch, treeOf } from './scene.ts';

const add = (agentDir: AgentDir, text: string, budget?: number) =>
  editMemory(agentDir, { action: 'add', text }, budget === undefined ? {} : { budget });
const userFile = (agentDir: AgentDir) => readFileSync(join(agentDir, 'USER.md'), 'utf8');
const preferences = (agentDir: AgentDir) => join(agentDir, 'okf-memory/user-preferences');
const digest = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex');
const FACTS = Array.from({ length: 120 }, (_, n) => `fact ${n}: ${'detail '.repeat(12)}${n}`);

/** One whose profile has outgrown its budget. */
async function overflown(): Promise<AgentDir> {
  const agentDir = agentDirWith({ 'USER.md': FACTS.map((fact) => `- ${fact}\n`).join('') });
  await add(agentDir, 'the last one');
  return agentDir;
}

describe('W11: a profile within its budget', () => {
  test('W11: is USER.md, and nothing else is made for it', async () => {
    const agentDir = agentDirWith({});
    expect(await add(agentDir, 'likes tea')).toMatchObject({ changed: true, shards: 0, bytes: 12 });
    expect(userFile(agentDir)).toBe('- likes tea\n');
    expect(lstatSync(join(agentDir, 'USER.md')).mode & 0o777).toBe(0o600);
    expect(existsSync(join(agentDir, 'okf-memory'))).toBe(false);
  });

  test('W11: what people wrote stays, and can be replaced and removed', async () => {
    const agentDir = agentDirWith({ 'USER.md': '# Me\n\nI write Rust.\n\n- likes tea\n' });
    await editMemory(agentDir, { action: 'replace', old: 'Rust', text: 'TypeScript' });
    const { removed } = await editMemory(agentDir, { action: 'remove', text: 'likes tea' });
    expect(removed).toBe('- likes tea');
    expect(userFile(agentDir)).toBe('# Me\n\nI write TypeScript.\n');
  });

  test('W11: an edit that changes nothing writes nothing', async () => {
    const agentDir = agentDirWith({ 'USER.md': '\n- likes tea\n\n' });
    expect((await add(agentDir, 'likes tea')).changed).toBe(false);
    expect(userFile(agentDir)).toBe('\n- likes tea\n\n');
  });

  test('W11: the budget is 8 KiB, or what USER_MD_BUDGET says', () => {
    expect(memoryBudget({})).toBe(8_192);
    expect(memoryBudget({ USER_MD_BUDGET: '1000' })).toBe(1_000);
    for (const word of ['8k', '-1', '12', '1e9', '99999999']) {
      expect(() => memoryBudget({ USER_MD_BUDGET: word })).toThrow('USER_MD_BUDGET');
    }
  });
});

describe('W11: a profile that outgrows its budget', () => {
  test('W11: goes whole into shards with an index, and USER.md points there', async () => {
    const agentDir = await overflown();
    const names = readdirSync(preferences(agentDir)).sort();
    expect(names).toEqual(['index.okf.md', 'user-preferences-1.okf.md', 'user-preferences-2.okf.md']);
    expect(userFile(agentDir)).toBe(POINTER);
    expect(POINTER).toContain('okf-memory/user-preferences/index.okf.md');
    const { profile, shards } = await readMemory(agentDir);
    expect(shards).toBe(2);
    expect(profile).toBe(`${[...FACTS, 'the last one'].map((fact) => `- ${fact}\n`).join('')}`);
    expect(existsSync(join(agentDir, 'state/user-preferences.pending.json'))).toBe(false);
  });

  test('W11: exactly the budget still fits, and one byte more does not', async () => {
    const fact = 'x'.repeat(1_000 - 3);
    const agentDir = agentDirWith({});
    expect((await add(agentDir, fact, 1_000)).shards).toBe(0);
    const other = agentDirWith({});
    expect((await add(other, `${fact}x`, 1_000)).shards).toBe(1);
  });

  test('W11: facts can be replaced and removed in every shard', async () => {
    const agentDir = await overflown();
    await editMemory(agentDir, { action: 'replace', old: FACTS[3] ?? '', text: 'another third' });
    await editMemory(agentDir, { action: 'replace', old: FACTS[110] ?? '', text: 'another last but ten' });
    await editMemory(agentDir, { action: 'remove', text: FACTS[0] ?? '' });
    await editMemory(agentDir, { action: 'remove', text: 'the last one' });
    const expected = FACTS.map(
      (fact, n) => ({ 3: 'another third', 110: 'another last but ten' })[n] ?? fact,
    ).slice(1);
    expect((await readMemory(agentDir)).profile).toBe(expected.map((fact) => `- ${fact}\n`).join(''));
    expect(userFile(agentDir)).toBe(POINTER);
  });

  test('W11: a shard that is not needed any more goes, and the index with it says so', async () => {
    const agentDir = await overflown();
    for (const fact of FACTS.slice(0, 60)) await editMemory(agentDir, { action: 'remove', text: fact });
    expect(readdirSync(preferences(agentDir)).sort()).toEqual(['index.okf.md', 'user-preferences-1.okf.md']);
    const index = readFileSync(join(preferences(agentDir), 'index.okf.md'), 'utf8');
    expect(index).toContain('user-preferences-1.okf.md');
    expect(index).not.toContain('user-preferences-2.okf.md');
  });

  test('W11: what people add to the pointer or to a shard by hand belongs to the profile', async () => {
    const agentDir = await overflown();
    writeFileSync(join(agentDir, 'USER.md'), `${POINTER}\n- by hand\n- the last one\n`);
    const shard = join(preferences(agentDir), 'user-preferences-2.okf.md');
    writeFileSync(shard, `${readFileSync(shard, 'utf8')}- in a shard\n`);
    await add(agentDir, 'new');
    const { profile } = await readMemory(agentDir);
    expect(profile.match(/- the last one\n/g)).toHaveLength(1);
    expect(profile).toMatch(/- in a shard\n\n?- by hand\n- new\n$/);
    expect(userFile(agentDir)).toBe(POINTER);
  });

  test('W11: a pointer that an editor saved in its own way is still one, and no part of the profile', async () => {
    const agentDir = await overflown();
    const { profile } = await readMemory(agentDir);
    writeFileSync(join(agentDir, 'USER.md'), `\ufeff${POINTER.trimEnd().replaceAll('\n', '\r\n')}`);
    expect((await readMemory(agentDir)).profile).toBe(profile);
    await add(agentDir, 'new');
    expect((await readMemory(agentDir)).profile).toBe(`${profile}- new\n`);
  });

  test('W11: a shard that somebody removed takes nothing of the others with it', async () => {
    const agentDir = await overflown();
    const parts = ['1', '2'].map((n) => join(preferences(agentDir), `user-preferences-${n}.okf.md`));
    rmSync(parts[0] ?? '');
    expect((await readMemory(agentDir)).profile).toBe(shardText(readFileSync(parts[1] ?? '', 'utf8')));
  });

  test('W11: more than a profile can be is refused, and what is there stays', async () => {
    const agentDir = agentDirWith({ 'USER.md': '- likes tea\n' });
    await expect(add(agentDir, 'x'.repeat(300_000))).rejects.toThrow(
      'the profile would be longer than 262144 bytes',
    );
    expect(treeOf(agentDir)['USER.md']).toBe('- likes tea\n');
  });
});

describe('W11: interrupted and side by side', () => {
  test('W11: an edit that was laid down and not written is written by the next, and shown until then', async () => {
    const agentDir = await overflown();
    const shards = ['user-preferences-1.okf.md', 'user-preferences-2.okf.md'];
    const before = Object.fromEntries(
      shards.map((name) => [name, digest(join(preferences(agentDir), name))]),
    );
    const pending = { version: 1, profile: '- only this\n', before };
    writeFileSync(join(agentDir, 'state/user-preferences.pending.json'), JSON.stringify(pending));
    expect((await readMemory(agentDir)).profile).toBe('- only this\n');
    await add(agentDir, 'and that');
    expect((await readMemory(agentDir)).profile).toBe('- only this\n- and that\n');
  });

  test('W11: a file that somebody changed after an interruption is kept beside', async () => {
    const agentDir = await overflown();
    const shard = join(preferences(agentDir), 'user-preferences-1.okf.md');
    const pending = { version: 1, profile: '- only this\n', before: {} };
    writeFileSync(join(agentDir, 'state/user-preferences.pending.json'), JSON.stringify(pending));
    writeFileSync(shard, 'by hand\n');
    await add(agentDir, 'and that');
    expect(Object.values(treeOf(join(agentDir, 'state/user-preferences-conflicts')))).toContain('by hand\n');
  });

  test('W11: an unfinished edit of a version that is not known stops everything and stays', async () => {
    const agentDir = agentDirWith({ 'state/user-preferences.pending.json': '{"version":2}' });
    await expect(add(agentDir, 'x')).rejects.toThrow(
      'is an unfinished edit that this version does not understand',
    );
    expect(treeOf(agentDir)['state/user-preferences.pending.json']).toBe('{"version":2}');
  });

  test('W11: many edits at once all arrive', async () => {
    const agentDir = agentDirWith({});
    await Promise.all(FACTS.slice(0, 30).map((fact) => add(agentDir, fact, 600)));
    const { profile } = await readMemory(agentDir);
    expect(profile.split('\n').filter(Boolean).sort()).toEqual(
      FACTS.slice(0, 30)
        .map((fact) => `- ${fact}`)
        .sort(),
    );
  });

  test('W11: two agent directories of links, as sandboxes of one domain have them, share one profile', async () => {
    const domain = scratch();
    for (const name of ['state', 'okf-memory']) mkdirSync(join(domain, name));
    const sandbox = () => {
      const agentDir = agentDirWith({});
      for (const name of ['state', 'okf-memory', 'USER.md'])
        symlinkSync(join(domain, name), join(agentDir, name));
      return agentDir;
    };
    const [one, other] = [sandbox(), sandbox()];
    await Promise.all(FACTS.slice(0, 20).map((fact, n) => add(n % 2 === 0 ? one : other, fact, 600)));
    const { profile, shards } = await readMemory(one);
    expect(profile.split('\n').filter(Boolean)).toHaveLength(20);
    expect(await readMemory(other)).toEqual({ profile, shards, bytes: Buffer.byteLength(profile) });
    expect(lstatSync(join(one, 'USER.md')).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(domain, 'USER.md'), 'utf8')).toBe(POINTER);
  });

  test('W11: who holds the lock is waited for, and named', async () => {
    const agentDir = agentDirWith({ 'state/': '' });
    const record = { pid: 7, host: 'box', startedAt: 'now', what: 'an edit of the profile' };
    const lock = await takeLock(join(agentDir, 'state/user-preferences.lock'), { record });
    await expect(editMemory(agentDir, { action: 'add', text: 'x' }, { waitMs: 20 })).rejects.toThrow(
      'an edit of the profile',
    );
    lock.release();
  });
});

describe('W11: hostile files', () => {
  test('W11: a fifo, a directory or something endless in place of USER.md is refused and waited for by nobody', async () => {
    const agentDir = agentDirWith({});
    const path = join(agentDir, 'USER.md');
    execFileSync('mkfifo', [path]);
    await expect(add(agentDir, 'x')).rejects.toThrow('it is not a regular file');
    expect(await promptText(agentDir, 8_192)).toContain('could not be read');
    rmSync(path);
    mkdirSync(path);
    await expect(readMemory(agentDir)).rejects.toThrow('it is not a regular file');
    rmSync(path, { recursive: true });
    writeFileSync(path, '');
    truncateSync(path, 2 ** 40);
    await expect(add(agentDir, 'x')).rejects.toThrow('longer than');
    expect(await promptText(agentDir, 8_192)).toContain('could not be read');
  });

  test('W11: what is no text is refused and stays as it is', async () => {
    const agentDir = agentDirWith({});
    const content = Buffer.from([0xff, 0xfe, 0x00, 0x41]);
    writeFileSync(join(agentDir, 'USER.md'), content);
    await expect(add(agentDir, 'x')).rejects.toThrow('is no text');
    expect(readFileSync(join(agentDir, 'USER.md'))).toEqual(content);
  });

  test('W11: a shard that is a link to a device is refused', async () => {
    const agentDir = await overflown();
    const shard = join(preferences(agentDir), 'user-preferences-1.okf.md');
    rmSync(shard);
    symlinkSync('/dev/zero', shard);
    await expect(readMemory(agentDir)).rejects.toThrow('it is not a regular file');
  });
});

describe('W11: the prompt', () => {
  test('W11: has USER.md as it is, and nothing where there is none', async () => {
    expect(await promptText(agentDirWith({}), 8_192)).toBeUndefined();
    expect(await promptText(agentDirWith({ 'USER.md': '\n \n' }), 8_192)).toBeUndefined();
    const agentDir = agentDirWith({ 'USER.md': '- likes tea\n' });
    expect(await promptText(agentDir, 8_192)).toMatch(/ from .*\/USER\.md:\n\n- likes tea\n$/);
  });

  test('W11: has no more of it than the budget, and says what is missing', async () => {
    const agentDir = agentDirWith({ 'USER.md': `${'- a line\n'.repeat(100)}` });
    const text = (await promptText(agentDir, 512)) ?? '';
    expect(text.match(/- a line\n/g)).toHaveLength(56);
    expect(text).toMatch(/\(396 more bytes are in .*USER\.md\.\)\n$/);
  });

  test('W11: has the pointer, with the path that its link is relative to, when the profile is in shards', async () => {
    const agentDir = await overflown();
    const text = (await promptText(agentDir, 8_192)) ?? '';
    expect(text).toContain(join(agentDir, 'USER.md'));
    expect(text).toContain('okf-memory/user-preferences/index.okf.md');
    expect(text).not.toContain('fact 3');
  });
});
