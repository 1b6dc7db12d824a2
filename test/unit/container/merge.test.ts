import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { describe, expect, it } from 'vitest';
import { publishMerge } from '../../../src/container/setup/merge.ts';
import { MergeReceiver } from '../../../src/container/setup/merge-receiver.ts';
import {
  describeChanges,
  keptChanges,
  sessionChanges,
} from '../../../src/container/setup/session-changes.ts';
import {
  ask,
  type Entry,
  finished,
  greetSupervisor,
  makeRoots,
  mergeOf,
  runIn,
  runningSandbox,
  runRequest,
  sha256,
  startSandbox,
  tarOf,
  until,
} from './sandbox.ts';

describe('a merge on its way', () => {
  const tar = Buffer.from('not quite a tar');
  const announced = { length: tar.length, sha256: sha256(tar) };

  it('S8: it is taken when length and hash are as announced', () => {
    const receiver = new MergeReceiver(announced);
    receiver.push(tar.subarray(0, 4));
    receiver.push(tar.subarray(4));
    expect(receiver.take()).toEqual(tar);
  });

  it('S8: a damaged, a short and a long one are refused', () => {
    const damaged = new MergeReceiver(announced);
    damaged.push(Buffer.from('not quite a taR'));
    expect(() => damaged.take()).toThrow('damaged');
    const short = new MergeReceiver(announced);
    short.push(tar.subarray(1));
    expect(() => short.take()).toThrow('damaged');
    const long = new MergeReceiver(announced);
    expect(() => long.push(Buffer.concat([tar, tar]))).toThrow('longer than announced');
  });

  it.each([
    ['a hash that is not its own', { sha256: 'a'.repeat(64) }, 'damaged'],
    ['a frame of another kind in the middle', { length: 10_000_000 }, 'end-of-input frame in the middle'],
  ])('S8: the supervisor refuses %s, and the container goes', async (_what, wrong, message) => {
    const sandbox = startSandbox();
    await greetSupervisor(sandbox.first);
    const bytes = await mergeOf();
    const merge = { length: bytes.length, sha256: sha256(bytes), ...wrong };
    sandbox.first.send({ type: 'open', value: runRequest(['true'], { merge }) });
    sandbox.first.send({ type: 'blob', bytes });
    sandbox.first.send({ type: 'end-of-input' });
    const reply = await sandbox.first.read();
    expect(reply).toMatchObject({ type: 'reply', value: { answer: 'refused' } });
    expect(JSON.stringify(reply)).toContain(message);
    expect(await sandbox.exit).toBe(0);
  });
});

describe('a merge that is published', () => {
  it('S8: files are copies, the rest is one link, nothing of it is open to others', async () => {
    const roots = makeRoots();
    const tar = await mergeOf({}, { 'settings.json': '{"a":1}', 'config/skills/x/SKILL.md': 'skill' });
    const merge = await publishMerge(roots, tar, sha256(tar));
    expect(readFileSync(`${roots.memory}/settings.json`, 'utf8')).toBe('{"a":1}');
    expect(readFileSync(`${roots.memory}/config/skills/x/SKILL.md`, 'utf8')).toBe('skill');
    expect(readlinkSync(`${roots.memory}/config`)).toBe(`${merge.pristine}/config`);
    expect(lstatSync(`${roots.memory}/settings.json`).mode & 0o777).toBe(0o600);
    expect(existsSync(`${roots.memory}/models.json`)).toBe(false);
  });

  it.each<[string, Record<string, Entry>]>([
    ['a name that climbs out', { '../evil': 'x' }],
    ['a name that climbs out in the middle', { 'config/../../evil': 'x' }],
    ['a symbolic link', { evil: { type: 'symlink', linkname: '/etc/passwd' } }],
    ['a hard link', { evil: { type: 'link', linkname: 'sandbox.json' } }],
    ['a device', { evil: { type: 'character-device' } }],
    ['a file that comes twice', { 'a//b': 'x', 'a/b': 'y' }],
    ['a sandbox.json that is none', { 'sandbox.json': '{"version":99}' }],
  ])('S8: %s is refused, and what stood before stays', async (_what, files) => {
    const roots = makeRoots();
    const good = await mergeOf({}, { 'settings.json': '{"a":1}' });
    const before = await publishMerge(roots, good, sha256(good));
    const bad = await mergeOf({}, { 'settings.json': '{"a":2}', ...files });
    await expect(publishMerge(roots, bad, sha256(bad))).rejects.toThrow();
    expect(readFileSync(`${roots.memory}/settings.json`, 'utf8')).toBe('{"a":1}');
    expect(readlinkSync(`${roots.memory}/config`)).toBe(`${before.pristine}/config`);
    expect(existsSync(`${roots.memory}/evil`)).toBe(false);
    expect(readdirSync(`${roots.memory}/merges`)).toHaveLength(1);
  });

  it('S8: an absolute name stays inside, a torn tar is refused', async () => {
    const roots = makeRoots();
    const tar = await tarOf({ 'sandbox.json': '{}', '/etc/evil': 'x'.repeat(5_000) });
    await expect(publishMerge(roots, tar.subarray(0, 3_000), '')).rejects.toThrow();
    expect(existsSync('/etc/evil')).toBe(false);
    expect(readdirSync(`${roots.memory}/merges`)).toEqual([]);
  });

  it('S8: what a session left in the way does not keep the next merge out', async () => {
    const roots = makeRoots();
    const tar = await mergeOf({}, { 'settings.json': '{}' });
    await publishMerge(roots, tar, sha256(tar));
    const sandbox = ['settings.json', 'settings.json.new', '.config.new'];
    const { execFileSync } = await import('node:child_process');
    for (const name of sandbox) {
      execFileSync('sh', ['-c', `rm -rf ${name}; mkdir -p ${name}/x`], { cwd: roots.memory });
    }
    await publishMerge(roots, tar, sha256(tar));
    expect(readFileSync(`${roots.memory}/settings.json`, 'utf8')).toBe('{}');
  });
});

describe('what sessions changed', () => {
  async function published(files: Record<string, string>) {
    const roots = makeRoots();
    const tar = await mergeOf({}, files);
    return { roots, merge: await publishMerge(roots, tar, sha256(tar)) };
  }

  it('S8: it is named by file and key, without what pi writes by itself', async () => {
    const { roots, merge } = await published({
      'settings.json': '{"theme":"dark","gone":1,"same":{"a":[1]}}',
      'AGENTS.md': 'old',
    });
    expect(await sessionChanges(roots, merge)).toEqual([]);
    writeFileSync(
      `${roots.memory}/settings.json`,
      '{ "same": {"a":[1]}, "theme":"light", "new":1, "lastChangelogVersion":"1" }',
    );
    writeFileSync(`${roots.memory}/AGENTS.md`, 'new');
    writeFileSync(`${roots.memory}/mcp.json`, '{"mcpServers":{}}');
    const line = describeChanges(await sessionChanges(roots, merge));
    expect(line).toContain('settings.json (gone, new, theme)');
    expect(line).toContain('mcp.json (mcpServers)');
    expect(line).toContain('AGENTS.md');
  });

  it('S8: why a file cannot be read is never offered as its new text', async () => {
    const { roots, merge } = await published({ 'config/SYSTEM.md': 'mine' });
    const path = `${merge.pristine}/config/SYSTEM.md`;
    rmSync(path);
    mkdirSync(path);
    expect(await keptChanges(roots, merge)).toEqual([]);
  });

  it('S8: a hostile file is neither waited for nor printed as it is', async () => {
    const { roots, merge } = await published({ 'settings.json': '{}' });
    const keys = Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`\u001b]0;k${n}\u0007`, n]));
    writeFileSync(`${roots.memory}/settings.json`, JSON.stringify(keys));
    const { execFileSync } = await import('node:child_process');
    execFileSync('mkfifo', [`${roots.memory}/mcp.json`]);
    const line = describeChanges(await sessionChanges(roots, merge)) ?? '';
    expect(line).toContain('and 2980 more');
    expect(line).toContain('mcp.json');
    expect(line).not.toContain('\u001b');
  });
});

describe('a start that joins', () => {
  it('S8: it replaces the merge whole; a running program keeps the merge it started with', async () => {
    const sandbox = startSandbox();
    const { memory } = sandbox.roots;
    await greetSupervisor(sandbox.first);
    await ask(sandbox.first, runRequest(['cat']), await mergeOf({}, { 'settings.json': '{"a":1}' }));
    const old = readlinkSync(`${memory}/config`);
    writeFileSync(`${memory}/settings.json`, '{"a":2}');
    const second = await sandbox.join();
    await ask(second, runRequest(['cat']), await mergeOf({}, { 'models.json': '{}' }));
    expect(existsSync(`${memory}/settings.json`)).toBe(false);
    expect(readFileSync(`${memory}/models.json`, 'utf8')).toBe('{}');
    expect(existsSync(old)).toBe(true);
    second.send({ type: 'end-of-input' });
    expect((await finished(second)).status.join()).toContain('settings.json (a)');
    expect(existsSync(old)).toBe(true);
    sandbox.first.send({ type: 'end-of-input' });
    await finished(sandbox.first);
    await until(() => readdirSync(`${memory}/merges`).length === 1, 'the old merge to be given back');
    expect(existsSync(old)).toBe(false);
  });

  it('S8: joins at the same moment come one after the other, each whole', async () => {
    const sandbox = await runningSandbox();
    const { memory } = sandbox.roots;
    const joins = Array.from({ length: 6 }, async (_, n) => {
      const files = { 'settings.json': `{"n":${n}}`, 'AGENTS.md': String(n), 'config/prompts/p': String(n) };
      const connection = await sandbox.join();
      const reply = await ask(connection, runRequest(['true']), await mergeOf({}, files));
      expect(reply.answer).toBe('accepted');
      return finished(connection);
    });
    for (const { exited } of await Promise.all(joins)) expect(exited?.code).toBe(0);
    const n = readFileSync(`${memory}/AGENTS.md`, 'utf8');
    expect(readFileSync(`${memory}/settings.json`, 'utf8')).toBe(`{"n":${n}}`);
    expect(readFileSync(`${memory}/config/prompts/p`, 'utf8')).toBe(n);
  });

  it('S8: a joining client that is lost in the middle of its merge changes nothing', async () => {
    const sandbox = await runningSandbox();
    const lost = await sandbox.join();
    const bytes = await mergeOf({}, { 'settings.json': '{"n":1}' });
    const merge = { length: bytes.length, sha256: sha256(bytes) };
    lost.send({ type: 'open', value: runRequest(['true'], { merge }) });
    lost.send({ type: 'blob', bytes: bytes.subarray(0, 1_000) });
    lost.destroy();
    expect((await runIn(sandbox, ['echo', 'well'])).stdout.toString()).toBe('well\n');
    expect(existsSync(`${sandbox.roots.memory}/settings.json`)).toBe(false);
  });

  it('S8: a first client that is lost in the middle of its merge takes the container with it', async () => {
    const sandbox = startSandbox();
    await greetSupervisor(sandbox.first);
    const merge = { length: 10_000, sha256: 'a'.repeat(64) };
    sandbox.first.send({ type: 'open', value: runRequest(['true'], { merge }) });
    sandbox.first.send({ type: 'blob', bytes: Buffer.alloc(5_000) });
    await sandbox.first.end();
    expect(await sandbox.exit).toBe(0);
  });
});
