import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import {
  agentDirAt,
  type MigrationOptions,
  type MigrationReport,
  markLive,
  migrateAgentDirLayout,
} from '../../../src/agent-dir/index.ts';
import { takeLock } from '../../../src/lib/kernel-lock.ts';
import { builtProgram } from '../../setup/built-program.ts';
import { smallDisk } from '../lib/temporary.ts';
import { agentDirWith, opened, plant, scratch, type Tree, treeOf } from './scene.ts';

const NOBODY = 1_999;

async function migrated(
  tree: Tree,
  options?: MigrationOptions,
): Promise<[Record<string, string>, MigrationReport]> {
  const agentDir = agentDirWith(tree);
  const report = await migrateAgentDirLayout(opened(agentDir), options);
  return [treeOf(agentDir), report];
}

const USERS = {
  'auth.json': '{}',
  'settings.json': '{}',
  'trust.json': '{}',
  'mcp.json': '{}',
  'mcp-auth.json': '{}',
  'USER.md': 'me',
  'sessions/--p--/one.jsonl': 'history',
  'something-else/of-mine': 'unknown',
  'notes.txt': 'unknown',
};

describe('W10: what moves', () => {
  test('W10: confirmed stragglers go to their places, and nothing else moves', async () => {
    const [after, report] = await migrated({
      ...USERS,
      'backups/2026/settings.json': 'old settings',
      'resource-profiles/x/settings.json': 'overlay',
      'auto-learn/notes': 'learned',
      'tmp/report': 'scratch',
      'auth.json:Zone.Identifier': 'ZoneId=3',
    });
    expect(after).toEqual({
      ...USERS,
      'state/backups/config/2026/settings.json': 'old settings',
      'profiles/directories/x/settings.json': 'overlay',
      'state/legacy-layout/auto-learn/notes': 'learned',
      'state/legacy-layout/tmp/report': 'scratch',
      'state/legacy-layout/auth.json:Zone.Identifier': 'ZoneId=3',
    });
    expect(report).toMatchObject({ outcome: 'done', moved: 5, conflicts: 0, left: 0 });
    expect(report.steps).toContainEqual({ what: 'moved', from: 'backups', to: 'state/backups/config' });
  });

  test('W10: a second run finds nothing to do and writes nothing', async () => {
    const agentDir = agentDirWith({ ...USERS, 'backups/a': 'a' });
    await migrateAgentDirLayout(opened(agentDir));
    const before = lstatSync(agentDir).mtimeMs;
    const [tree, report] = [treeOf(agentDir), await migrateAgentDirLayout(opened(agentDir))];
    expect(report).toMatchObject({ outcome: 'nothing', moved: 0 });
    expect(treeOf(agentDir)).toEqual(tree);
    expect(lstatSync(agentDir).mtimeMs).toBe(before);
  });

  test('W10: where nothing is to move not even a lock file is made', async () => {
    const agentDir = agentDirWith({ 'settings.json': '{}', 'tmp/extensions/x': 'a package' });
    expect((await migrateAgentDirLayout(opened(agentDir))).outcome).toBe('nothing');
    expect(treeOf(agentDir)).toEqual({ 'settings.json': '{}', 'tmp/extensions/x': 'a package' });
    expect(lstatSync(join(agentDir, '.setup.lock'), { throwIfNoEntry: false })).toBeUndefined();
  });

  test("W10: pi's own tmp/extensions stays, and what is beside it goes", async () => {
    const [after] = await migrated({ 'tmp/extensions/x/index.js': 'a package', 'tmp/report': 'scratch' });
    expect(after).toEqual({
      'tmp/extensions/x/index.js': 'a package',
      'state/legacy-layout/tmp/report': 'scratch',
    });
  });

  test('W10: trust.json stays for stock pi, and goes for a pi that reads it in state', async () => {
    expect((await migrated({ 'trust.json': '{}' }))[0]).toEqual({ 'trust.json': '{}' });
    const [after] = await migrated({ 'trust.json': '{}' }, { trustInState: true });
    expect(after).toEqual({ 'state/trust.json': '{}' });
  });

  test('W10: a file called like a directory of the old layout is unknown, and stays', async () => {
    const tree = { backups: 'my own list', 'auth.json:Zone.Identifier/x': 'y' };
    expect((await migrated(tree))[0]).toEqual(tree);
  });

  test('W10: a whole root keeps its times, its modes and the links in it', async () => {
    const agentDir = agentDirWith({ 'backups/a': 'a', 'backups/link': 'link:/nowhere' });
    chmodSync(join(agentDir, 'backups/a'), 0o640);
    utimesSync(join(agentDir, 'backups/a'), 1_000, 1_000);
    const inode = lstatSync(join(agentDir, 'backups')).ino;
    await migrateAgentDirLayout(opened(agentDir));
    const place = join(agentDir, 'state/backups/config');
    expect(lstatSync(place).ino).toBe(inode);
    expect(statSync(join(place, 'a'))).toMatchObject({ mode: 0o100640, mtimeMs: 1_000_000 });
    expect(treeOf(place).link).toBe('link:/nowhere');
  });

  test('W10: directories that it makes are private', async () => {
    const agentDir = agentDirWith({ 'backups/a': 'a' });
    await migrateAgentDirLayout(opened(agentDir));
    expect(lstatSync(join(agentDir, 'state')).mode & 0o777).toBe(0o700);
  });

  test('W10: a dry run says what would move and where to, and changes nothing', async () => {
    const tree = {
      'backups/a': 'old',
      'backups/b': 'b',
      'state/backups/config/a': 'new',
      'auto-learn/x': 'x',
    };
    const [after, report] = await migrated(tree, { dryRun: true });
    expect(after).toEqual(tree);
    expect(report.steps).toEqual(
      expect.arrayContaining([
        { what: 'conflict', from: 'backups/a', to: 'state/migration-conflicts/backups/a' },
        { what: 'moved', from: 'backups/b', to: 'state/backups/config/b' },
        { what: 'moved', from: 'auto-learn', to: 'state/legacy-layout/auto-learn' },
      ]),
    );
    expect(report.steps).toHaveLength(3);
  });
});

describe('W10: collisions and bounds', () => {
  test('W10: into a place that is there it goes entry by entry, and collisions are both kept', async () => {
    const [after, report] = await migrated({
      'backups/a': 'old a',
      'backups/b': 'old b',
      'backups/d/x': 'old x',
      'state/backups/config/a': 'new a',
      'state/backups/config/d/y': 'new y',
    });
    expect(after).toEqual({
      'state/backups/config/a': 'new a',
      'state/backups/config/b': 'old b',
      'state/backups/config/d/y': 'new y',
      'state/migration-conflicts/backups/a': 'old a',
      'state/migration-conflicts/backups/d/x': 'old x',
    });
    expect(report).toMatchObject({ outcome: 'done', moved: 1, conflicts: 2, left: 0 });
  });

  test('W10: equal files that collide are both kept too', async () => {
    const [after] = await migrated({ 'backups/a': 'same', 'state/backups/config/a': 'same' });
    expect(after).toEqual({
      'state/backups/config/a': 'same',
      'state/migration-conflicts/backups/a': 'same',
    });
  });

  test('W10: a collision that was kept before is not overwritten either', async () => {
    const [after] = await migrated({
      'backups/a': 'third',
      'state/backups/config/a': 'first',
      'state/migration-conflicts/backups/a': 'second',
      'auth.json:Zone.Identifier': 'new zone',
      'state/legacy-layout/auth.json:Zone.Identifier': 'old zone',
    });
    expect(after).toEqual({
      'state/backups/config/a': 'first',
      'state/migration-conflicts/backups/a': 'second',
      'state/migration-conflicts/backups/a.2': 'third',
      'state/migration-conflicts/auth.json:Zone.Identifier': 'new zone',
      'state/legacy-layout/auth.json:Zone.Identifier': 'old zone',
    });
  });

  test('W10: of a root that is moved entry by entry so many go in one run, and the next goes on', async () => {
    const files = Object.fromEntries(Array.from({ length: 5 }, (_, n) => [`backups/${n}`, `${n}`]));
    const agentDir = agentDirWith({ ...files, 'state/backups/config/kept': 'kept' });
    const first = await migrateAgentDirLayout(opened(agentDir), { limit: 3 });
    expect(first).toMatchObject({ outcome: 'incomplete', moved: 3 });
    const second = await migrateAgentDirLayout(opened(agentDir), { limit: 3 });
    expect(second).toMatchObject({ outcome: 'done', moved: 2 });
    expect(Object.keys(treeOf(agentDir))).toEqual(
      ['0', '1', '2', '3', '4', 'kept'].map((n) => `state/backups/config/${n}`),
    );
  });

  test('W10: without a word about it the limit is 10,000 entries', async () => {
    const agentDir = agentDirWith({ 'state/backups/config/kept': 'kept', 'backups/': '' });
    for (let n = 0; n < 10_001; n++) writeFileSync(join(agentDir, `backups/${n}`), '');
    const report = await migrateAgentDirLayout(opened(agentDir));
    expect(report).toMatchObject({ outcome: 'incomplete', moved: 10_000 });
    expect(report.steps).toHaveLength(64);
  });
});

describe('W10: links', () => {
  test('W10: a link in place of a straggler stays, and nothing behind it is touched', async () => {
    const elsewhere = scratch();
    plant(elsewhere, { a: 'mine' });
    const agentDir = agentDirWith({});
    symlinkSync(elsewhere, join(agentDir, 'backups'));
    const report = await migrateAgentDirLayout(opened(agentDir));
    expect(report.steps).toEqual([{ what: 'left', from: 'backups', reason: 'it is a link' }]);
    expect(treeOf(elsewhere)).toEqual({ a: 'mine' });
    expect(Object.keys(treeOf(agentDir))).toEqual(['backups']);
  });

  test('W10: a link among the entries stays', async () => {
    const [after, report] = await migrated({
      'backups/a': 'a',
      'backups/link': 'link:a',
      'state/backups/config/kept': 'kept',
    });
    expect(after).toEqual({
      'backups/link': 'link:a',
      'state/backups/config/a': 'a',
      'state/backups/config/kept': 'kept',
    });
    expect(report).toMatchObject({ moved: 1, left: 1 });
  });

  test.each(['state', 'state/backups', 'state/backups/config'])(
    'W10: nothing is moved through a link at %s',
    async (place) => {
      const elsewhere = scratch();
      const agentDir = agentDirWith({ 'backups/a': 'a' });
      mkdirSync(join(agentDir, place, '..'), { recursive: true });
      symlinkSync(elsewhere, join(agentDir, place));
      const report = await migrateAgentDirLayout(opened(agentDir));
      expect(report).toMatchObject({ moved: 0, left: 1 });
      expect(treeOf(elsewhere)).toEqual({});
      expect(treeOf(agentDir)['backups/a']).toBe('a');
    },
  );

  test('W10: the agent directory itself may be a link', async () => {
    const agentDir = agentDirWith({ 'backups/a': 'a' });
    const link = join(scratch(), 'agent');
    symlinkSync(agentDir, link);
    await migrateAgentDirLayout(opened(agentDirAt(link)));
    expect(treeOf(agentDir)).toEqual({ 'state/backups/config/a': 'a' });
  });
});

describe('W10: what cannot be moved', () => {
  test('W10: a name that is no text stays, and nothing else for it', async () => {
    const agentDir = agentDirWith({ 'backups/a': 'a', 'state/backups/config/': '' });
    writeFileSync(Buffer.concat([Buffer.from(`${agentDir}/backups/`), Buffer.from([0xff])]), '');
    const report = await migrateAgentDirLayout(opened(agentDir));
    expect(report).toMatchObject({ moved: 1, left: 1 });
    expect(report.steps).toContainEqual(expect.objectContaining({ reason: 'its name is no text' }));
  });

  test('W10: a root that is closed to it keeps no other from being moved', ({ skip }) => {
    if (process.getuid?.() !== 0) skip('made for another user by root');
    const agentDir = agentDirWith({ 'backups/a': 'a', 'tmp/x': 'x' });
    for (const path of ['..', '.', 'backups']) chownSync(join(agentDir, path), NOBODY, NOBODY);
    chmodSync(join(agentDir, 'tmp'), 0o700);
    const room = pathToFileURL(builtProgram('src/agent-dir/index.ts')).href;
    const code = `const room = await import(${JSON.stringify(room)});
      process.setgroups([]); process.setgid(${NOBODY}); process.setuid(${NOBODY});
      const top = room.openAgentDir(${JSON.stringify(agentDir)});
      console.log(JSON.stringify(await room.migrateAgentDirLayout(top)));`;
    const said = execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
    expect(JSON.parse(said)).toMatchObject({ moved: 1, left: 1 });
    expect(treeOf(agentDir)).toEqual({ 'state/backups/config/a': 'a', 'tmp/x': 'x' });
  });
});

describe('W10: who is alive', () => {
  const soon = { waitMs: 20 };

  test('W10: nothing moves while a sandbox is alive on the directory; when it is gone, it does', async () => {
    const agentDir = agentDirWith({ 'backups/a': 'a' });
    const top = opened(agentDir);
    const mark = await markLive(top);
    expect(await migrateAgentDirLayout(top)).toMatchObject({
      outcome: 'busy',
      busyWith: 'a running sandbox',
    });
    expect(treeOf(agentDir)).toEqual({ 'backups/a': 'a' });
    mark.release();
    expect((await migrateAgentDirLayout(top)).outcome).toBe('done');
  });

  test("W10: the caller's own sandbox is no other, whichever byte it holds", async () => {
    for (const byte of [0, 255]) {
      const top = opened(agentDirWith({ 'backups/a': 'a' }));
      const own = await markLive(top, { random: (length) => new Uint8Array(length).fill(byte) });
      const other = await markLive(top);
      expect(await migrateAgentDirLayout(top, { own: own.place })).toMatchObject({ outcome: 'busy' });
      other.release();
      expect(await migrateAgentDirLayout(top, { own: own.place })).toMatchObject({ outcome: 'done' });
      own.release();
    }
  });

  test('W10: any number of sandboxes are alive side by side', async () => {
    const top = opened(agentDirWith({}));
    const marks = await Promise.all(Array.from({ length: 20 }, () => markLive(top)));
    expect(new Set(marks.map(({ place }) => place)).size).toBe(20);
    for (const mark of marks) mark.release();
  });

  test('W10: it runs under the lock under which starts prepare the directory', async () => {
    const agentDir = agentDirWith({ 'backups/a': 'a' });
    const lock = await takeLock(join(agentDir, '.setup.lock'));
    const report = await migrateAgentDirLayout(opened(agentDir), soon);
    expect(report).toMatchObject({ outcome: 'busy', busyWith: 'another start or migration' });
    lock.release();
  });
});

describe('W10: between file systems', () => {
  /** An agent directory whose `state` is on another file system. */
  function stateElsewhere(tree: Tree, skip: (reason: string) => void) {
    const disk = smallDisk(4_096);
    if ('skip' in disk) skip(disk.skip);
    const agentDir = agentDirWith(tree);
    mkdirSync(join(agentDir, 'state'));
    if ('path' in disk) {
      execFileSync('mount', ['--bind', disk.path, join(agentDir, 'state')]);
    }
    return { agentDir, end: () => execFileSync('umount', [join(agentDir, 'state')]) };
  }

  test('W10: entries are copied with their times and modes, and the originals go', async ({ skip }) => {
    const { agentDir, end } = stateElsewhere({ 'backups/d/x': 'x', 'backups/a': 'a' }, skip);
    try {
      chmodSync(join(agentDir, 'backups/a'), 0o640);
      utimesSync(join(agentDir, 'backups/a'), 1_000, 1_000);
      const report = await migrateAgentDirLayout(opened(agentDir));
      expect(report).toMatchObject({ outcome: 'done', moved: 2, left: 0 });
      expect(treeOf(agentDir)).toEqual({
        'state/backups/config/a': 'a',
        'state/backups/config/d/x': 'x',
      });
      const copy = statSync(join(agentDir, 'state/backups/config/a'));
      expect(copy).toMatchObject({ mode: 0o100640, mtimeMs: 1_000_000 });
    } finally {
      end();
    }
  });

  test('W10: a tree in which another directory is mounted stays whole, and so does that directory', async ({
    skip,
  }) => {
    const { agentDir, end } = stateElsewhere({ 'backups/d/x': 'x', 'backups/d/theirs/': '' }, skip);
    const theirs = scratch();
    plant(theirs, { precious: 'theirs' });
    try {
      execFileSync('mount', ['--bind', theirs, join(agentDir, 'backups/d/theirs')]);
      try {
        expect(await migrateAgentDirLayout(opened(agentDir))).toMatchObject({ moved: 0, left: 1 });
        expect(treeOf(theirs)).toEqual({ precious: 'theirs' });
      } finally {
        execFileSync('umount', [join(agentDir, 'backups/d/theirs')]);
      }
      expect(treeOf(agentDir)).toEqual({
        'backups/d/x': 'x',
        'backups/d/theirs/': '',
        'state/backups/config/': '',
      });
    } finally {
      end();
    }
  });

  test('W10: a collision there is kept as well, and a tree with a link in it stays whole', async ({
    skip,
  }) => {
    const { agentDir, end } = stateElsewhere(
      { 'backups/a': 'old', 'backups/d/x': 'x', 'backups/d/l': 'link:x' },
      skip,
    );
    try {
      plant(agentDir, { 'state/backups/config/a': 'new' });
      const report = await migrateAgentDirLayout(opened(agentDir));
      expect(report).toMatchObject({ moved: 0, conflicts: 1, left: 1 });
      expect(treeOf(agentDir)).toEqual({
        'backups/d/l': 'link:x',
        'backups/d/x': 'x',
        'state/backups/config/a': 'new',
        'state/migration-conflicts/backups/a': 'old',
      });
      expect((await migrateAgentDirLayout(opened(agentDir))).left).toBe(1);
    } finally {
      end();
    }
  });
});
