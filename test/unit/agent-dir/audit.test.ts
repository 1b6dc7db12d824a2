import { execFileSync } from 'node:child_process';
import { chmodSync, lstatSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import {
  type AuditEntry,
  type AuditOptions,
  agentLinks,
  auditAgentDir,
  sandboxRoots,
  TRUST_FILE,
} from '../../../src/agent-dir/index.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { builtProgram } from '../../setup/built-program.ts';
import { agentDirWith, opened, type Tree } from './scene.ts';

const NOBODY = 1_999;
const NOW = new Date('2026-12-01T00:00:00Z');
const clock: Clock = { ...systemClock, now: () => NOW };

function audited(tree: Tree, options?: AuditOptions) {
  return auditAgentDir(opened(agentDirWith(tree)), options);
}

const names = (entries: readonly AuditEntry[]) => entries.map(({ name }) => name);

describe('W12: the audit of an agent directory', () => {
  test('W12: is silent about everything that pi, the sandbox, the jobs and people keep there', () => {
    const tree = {
      'auth.json': '{}',
      'auth.json.lock/': '',
      'settings.json': '{}',
      'models.json': '{}',
      'models-store.json': '{}',
      'keybindings.json': '{}',
      'trust.json': '{}',
      'mcp.json': '{}',
      'mcp-auth.json': '{}',
      'mcp.log': '',
      'mcp.log.1': '',
      'crashes.json': '[]',
      'pi-debug.log': '',
      'AGENTS.md': '',
      'AGENTS.override.md': '',
      'CLAUDE.md': '',
      'MEMORY.md': '',
      'USER.md': '',
      'SYSTEM.md': '',
      'APPEND_SYSTEM.md': '',
      'okf-memory/user-preferences/index.okf.md': '',
      'profiles/directories/x/settings.json': '{}',
      'tmp/extensions/x/index.js': '',
      '.setup.lock': '',
      '.live.lock': '',
      skills: 'link:/home/someone/skills',
    };
    const directories = 'extensions prompts themes agents state cache bin work runtimes models sessions';
    const more = `${directories} multi-agent-sessions npm git worktrees`
      .split(' ')
      .map((name) => [`${name}/`, '']);
    expect(audited({ ...tree, ...Object.fromEntries(more) })).toEqual({
      entries: [],
      omitted: 0,
      cut: false,
    });
  });

  test("W12: every link of a sandbox's agent directory has a canonical name", () => {
    const links = agentLinks(sandboxRoots(1000), { privatePackages: false });
    const tree = Object.fromEntries([...links.map(({ name }) => [name, 'link:/x']), [TRUST_FILE, '{}']]);
    expect(audited(tree).entries).toEqual([]);
  });

  test('W12: names others with their size and age', () => {
    const agentDir = agentDirWith({
      'report.txt': '12345',
      'mine/a': '123',
      'mine/deep/b': '4567',
      'a-link': 'link:x',
    });
    utimesSync(join(agentDir, 'report.txt'), NOW, new Date(NOW.getTime() - 60_000));
    const { entries } = auditAgentDir(opened(agentDir), { clock });
    expect(names(entries)).toEqual(['a-link', 'mine', 'report.txt']);
    expect(entries[1]).toMatchObject({ kind: 'directory', bytes: 7, atLeast: false, migrates: false });
    expect(entries[2]).toMatchObject({ kind: 'file', bytes: 5, ageMs: 60_000 });
  });

  test('W12: says of an older layout that the migration moves it', () => {
    const { entries } = audited({ 'backups/a': 'a', 'tmp/report': 'x', 'auth.json:Zone.Identifier': '' });
    expect(names(entries)).toEqual(['auth.json:Zone.Identifier', 'backups', 'tmp']);
    expect(entries.every(({ migrates }) => migrates)).toBe(true);
  });

  test('W12: something of another kind under a canonical name is named', () => {
    expect(names(audited({ state: 'a file', 'settings.json/x': 'a directory' }).entries)).toEqual([
      'settings.json',
      'state',
    ]);
  });

  test('W12: lists 64 entries and counts the rest', () => {
    const tree = Object.fromEntries(Array.from({ length: 70 }, (_, n) => [`other-${n}`, '']));
    const { entries, omitted, cut } = audited(tree);
    expect([entries.length, omitted, cut]).toEqual([64, 6, false]);
  });

  test('W12: looks at 10,000 entries and says when there are more', () => {
    const agentDir = agentDirWith({});
    for (let n = 0; n < 10_001; n++) writeFileSync(join(agentDir, `${n}`), '');
    const { entries, omitted, cut } = auditAgentDir(opened(agentDir));
    expect([entries.length, omitted, cut]).toEqual([64, 9_936, true]);
  });

  test('W12: a size that takes more looks than there are is a least size', () => {
    const tree = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`mine/${n}`, 'x']));
    const [entry] = audited(tree, { scans: 10 }).entries;
    expect(entry).toMatchObject({ name: 'mine', atLeast: true });
    expect(entry?.bytes).toBeLessThan(10);
  });

  test('W12: a directory that is closed to it costs no word about the others', (context) => {
    if (process.getuid?.() !== 0) return context.skip('made for another user by root');
    const agentDir = agentDirWith({ 'closed/a': 'a', 'tmp/x': 'x', 'other/a': 'a' });
    chmodSync(join(agentDir, '..'), 0o755);
    chmodSync(join(agentDir, 'closed'), 0o744);
    chmodSync(join(agentDir, 'tmp'), 0o700);
    const room = pathToFileURL(builtProgram('src/agent-dir/index.ts')).href;
    const code = `const room = await import(${JSON.stringify(room)});
      process.setgroups([]); process.setgid(${NOBODY}); process.setuid(${NOBODY});
      const { entries } = room.auditAgentDir(room.openAgentDir(${JSON.stringify(agentDir)}));
      console.log(JSON.stringify(entries));`;
    const said = execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
    expect(JSON.parse(said)).toMatchObject([
      { name: 'closed', bytes: 0, atLeast: true },
      { name: 'other', bytes: 1, atLeast: false },
    ]);
  });

  test('W12: follows no link, waits for no fifo and changes nothing', () => {
    const agentDir = agentDirWith({ 'mine/a': 'a' });
    symlinkSync('/', join(agentDir, 'mine/everything'));
    execFileSync('mkfifo', [join(agentDir, 'pipe')]);
    mkdirSync(join(agentDir, 'backups'));
    chmodSync(join(agentDir, 'mine/a'), 0o000);
    const before = [lstatSync(agentDir), lstatSync(join(agentDir, 'mine'))].map(({ mtimeMs }) => mtimeMs);
    const { entries } = auditAgentDir(opened(agentDir));
    expect(entries.map(({ name, kind, bytes }) => [name, kind, bytes])).toEqual([
      ['backups', 'directory', 0],
      ['mine', 'directory', 1],
      ['pipe', 'other', 0],
    ]);
    const after = [lstatSync(agentDir), lstatSync(join(agentDir, 'mine'))].map(({ mtimeMs }) => mtimeMs);
    expect(after).toEqual(before);
    chmodSync(join(agentDir, 'mine/a'), 0o600);
    expect(lstatSync(join(agentDir, 'backups')).isDirectory()).toBe(true);
  });

  test("W12: a sandbox's own links are none of its entries", () => {
    expect(names(audited({ 'report.txt': '', kept: 'link:/x' }, { skipLinks: true }).entries)).toEqual([
      'report.txt',
    ]);
  });
});
