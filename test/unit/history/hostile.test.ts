import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  clearHistory,
  exportSession,
  findSession,
  listSessions,
  pruneHistory,
  removeSession,
  restoreSession,
  SessionNotFoundError,
  showSession,
  summarizeHistory,
} from '../../../src/history/index.ts';
import { smallDisk } from '../lib/temporary.ts';
import { clockAt, collect, daysAgo, filesBelow, makeScene, sessionText, TODAY } from './scene.ts';

const OLD = sessionText({ id: 'victim', lastEntry: 90 });

/** Another domain's sessions, all of them expired, which nothing here may touch or show. */
function elsewhere(scene: { root: string }): string {
  const other = `${scene.root}-other`;
  mkdirSync(join(other, '--p--'), { recursive: true });
  for (const file of ['victim.jsonl', '--p--/victim.jsonl', '--p--/victim.jsonl.trashed']) {
    writeFileSync(join(other, file), OLD);
    utimesSync(join(other, file), daysAgo(90), daysAgo(90));
  }
  return other;
}

describe('what a sandbox can plant', () => {
  it('S11: links stay, are reported, and lead nowhere: not to files, folders, the trash’s days or its folders', async () => {
    const scene = makeScene();
    const other = elsewhere(scene);
    const before = filesBelow(other);
    scene.session('--p--/own.jsonl', { mtime: 90 });
    symlinkSync(other, join(scene.root, 'x'));
    symlinkSync(join(other, 'victim.jsonl'), join(scene.root, 'x.jsonl'));
    symlinkSync(join(other, 'victim.jsonl'), join(scene.root, '--p--/y.jsonl'));
    mkdirSync(join(scene.root, '.trash/2026-01-02'), { recursive: true });
    symlinkSync(other, join(scene.root, '.trash/2026-01-01'));
    symlinkSync(join(other, '--p--'), join(scene.root, '.trash/2026-01-02/--p--'));
    const report = await pruneHistory(scene.history, scene.options());
    expect(report.total).toBe(1);
    expect(report.problems.items.map(({ file, kind }) => `${kind} ${file}`).sort()).toEqual([
      'link --p--/y.jsonl',
      'link .trash/2026-01-01',
      'link .trash/2026-01-02/--p--',
      'link x',
      'link x.jsonl',
    ]);
    expect(lstatSync(join(scene.root, 'x')).isSymbolicLink()).toBe(true);
    await expect(findSession(scene.history, 'victim')).rejects.toThrow('no Session');
    for (const selector of [
      'x/victim.jsonl',
      'x.jsonl',
      '.trash/2026-01-01/--p--/victim.jsonl.trashed',
      '../sessions-other/victim.jsonl',
    ]) {
      await expect(showSession(scene.history, selector, scene.options()), selector).rejects.toThrow(
        /no Session|not opened/,
      );
      await expect(exportSession(scene.history, selector), selector).rejects.toThrow(/no Session|not opened/);
      await expect(removeSession(scene.history, selector, { now: true }), selector).rejects.toThrow();
      await expect(restoreSession(scene.history, selector), selector).rejects.toThrow();
    }
    await clearHistory(scene.history, scene.options());
    expect(filesBelow(other)).toEqual(before);
  });

  it.each(['.trash', `.trash/${TODAY}`, `.trash/${TODAY}/--p--`])(
    'S11: nothing is moved through a link at %s',
    async (planted) => {
      const scene = makeScene();
      const other = elsewhere(scene);
      const text = scene.session('--p--/own.jsonl', { mtime: 90 });
      mkdirSync(join(scene.root, planted, '..'), { recursive: true });
      symlinkSync(other, join(scene.root, planted));
      const before = filesBelow(other);
      const report = await pruneHistory(scene.history, scene.options());
      expect(report.total).toBe(0);
      expect(report.problems.items.some(({ kind }) => kind === 'failed')).toBe(true);
      expect(scene.files()).toEqual({ '--p--/own.jsonl': text });
      expect(filesBelow(other)).toEqual(before);
    },
  );

  it('S11: nor is the lock or the log written through one', async () => {
    for (const planted of [
      '.history',
      '.history/lock',
      '.history/deletions.log',
      '.history/first-deletion-shown.json',
    ]) {
      const scene = makeScene();
      const target = `${scene.root}-target`;
      if (planted === '.history') mkdirSync(target);
      else writeFileSync(target, 'kept');
      const text = scene.session('--p--/own.jsonl', { mtime: 90 });
      mkdirSync(join(scene.root, planted, '..'), { recursive: true });
      symlinkSync(target, join(scene.root, planted));
      const ended = await pruneHistory(scene.history, scene.options()).catch((error: Error) => error);
      if (planted.endsWith('.json')) expect(ended).toMatchObject({ total: 1 });
      else expect(scene.files()['--p--/own.jsonl'], planted).toBe(text);
      if (planted !== '.history') expect(readFileSync(target, 'utf8'), planted).toBe('kept');
      else expect(readdirSync(target)).toEqual([]);
    }
  });

  it('S11: fifos, directories named like Sessions, foreign files and files without a header stay', async () => {
    const scene = makeScene();
    mkdirSync(join(scene.root, '--p--/folder.jsonl'), { recursive: true });
    mkdirSync(join(scene.root, 'top.jsonl'));
    mkdirSync(join(scene.root, '--p--/deep/er'), { recursive: true });
    execFileSync('mkfifo', [join(scene.root, '--p--/fifo.jsonl')]);
    scene.session('notes.md', { mtime: 90, content: 'x' });
    scene.session('--p--/empty.jsonl', { mtime: 90, content: '' });
    scene.session('--p--/other.jsonl', { mtime: 90, content: '{"type":"message"}\n' });
    scene.session('--p--/binary.jsonl', { mtime: 90, content: Buffer.alloc(200_000, 7) });
    const before = readdirSync(scene.root, { recursive: true }).sort();
    const report = await pruneHistory(scene.history, scene.options());
    expect(
      readdirSync(scene.root, { recursive: true })
        .filter((name) => !String(name).startsWith('.history'))
        .sort(),
    ).toEqual(before);
    expect(report.problems.items.map(({ file, kind }) => `${kind} ${file}`).sort()).toEqual([
      'foreign --p--/deep',
      'foreign notes.md',
      'no-session --p--/binary.jsonl',
      'no-session --p--/empty.jsonl',
      'no-session --p--/other.jsonl',
      'special --p--/fifo.jsonl',
      'special --p--/folder.jsonl',
      'special top.jsonl',
    ]);
  });

  it('S12: what a migration keeps beside the folders is no history and not foreign', async () => {
    const scene = makeScene();
    scene.session('.pi-sandbox-legacy.json', { mtime: 90, content: '{}' });
    scene.session('.pi-sandbox-tmp-0123456789abcdef0123456789abcdef/7', { mtime: 90 });
    const before = scene.files();
    const report = await pruneHistory(scene.history, scene.options());
    expect(report).toMatchObject({ total: 0, problems: { items: [] } });
    expect(await summarizeHistory(scene.history, scene.options())).toMatchObject({
      count: 0,
      problems: { items: [] },
    });
    expect(scene.files()).toEqual(before);
  });

  it('S11: of two names of one file each is a Session of its own', async () => {
    const scene = makeScene();
    const text = scene.session('--p--/a.jsonl', { mtime: 90 });
    linkSync(join(scene.root, '--p--/a.jsonl'), join(scene.root, '--p--/b.jsonl'));
    await pruneHistory(scene.history, scene.options({ spare: ({ file }) => file.endsWith('b.jsonl') }));
    expect(scene.files()).toEqual({ '--p--/b.jsonl': text, [`.trash/${TODAY}/--p--/a.jsonl.trashed`]: text });
    await pruneHistory(
      scene.history,
      scene.options({ clock: clockAt(daysAgo(-9)), retention: { days: 0, trashDays: 7 } }),
    );
    expect(scene.files()).toEqual({ '--p--/b.jsonl': text });
  });

  it('rule 7: reports stay short, whatever there is', async () => {
    const scene = makeScene();
    for (let n = 0; n < 500; n++) {
      scene.session(`--p--/${n}.txt`, { content: '' });
      scene.session(`--p--/${n}.jsonl`, { mtime: 90 });
    }
    const report = await pruneHistory(scene.history, scene.options());
    expect(report.problems.items.length + report.problems.omitted).toBe(500);
    expect(report.problems.items.length).toBeLessThan(300);
    expect(report.sessions.items.length + report.sessions.omitted).toBe(500);
  });

  it('rule 7: hundreds of planted files do not hide what failed', async () => {
    const scene = makeScene();
    for (let n = 0; n < 300; n++) writeFileSync(join(scene.root, `planted-${n}`), '');
    // With the trash's ending it has more bytes than a name can have.
    const file = `--p--/${'n'.repeat(245)}.jsonl`;
    scene.session(file, { id: 'long', mtime: 90 });
    const { problems } = await pruneHistory(scene.history, scene.options());
    expect(problems.items.filter(({ kind }) => kind !== 'foreign')).toEqual([
      { file, kind: 'failed', reason: expect.stringMatching(/^cannot look at .*: name too long$/) },
    ]);
    expect(problems.items.length + problems.omitted).toBe(301);
  });

  it('S11: more damaged lines at its end than are looked through keep a Session, and it says so', async () => {
    const scene = makeScene();
    scene.session('--p--/s.jsonl', { mtime: 90, lastEntry: 1, tail: '{"torn\n'.repeat(1_001) });
    const report = await pruneHistory(scene.history, scene.options());
    expect(report).toMatchObject({ total: 0, problems: { items: [{ kind: 'undatable' }] } });
  });

  it('S11: folders and files with names that are no UTF-8 stay and are reported', async () => {
    const scene = makeScene();
    const named = (start: string): Buffer =>
      Buffer.concat([Buffer.from(join(scene.root, start)), Buffer.from([0xff])]);
    mkdirSync(named('--folder-'));
    writeFileSync(Buffer.concat([named('file-'), Buffer.from('.jsonl')]), OLD);
    const { problems } = await summarizeHistory(scene.history, scene.options());
    expect(problems.items.map(({ kind, reason }) => `${kind}: ${reason}`)).toEqual(
      Array(2).fill('unreadable: its name is not valid UTF-8'),
    );
  });

  it('S13: a name that no file can have is no Session’s', async () => {
    const scene = makeScene();
    for (const name of [`${'x'.repeat(300)}.jsonl`, `${'x'.repeat(300)}/a.jsonl`])
      await expect(showSession(scene.history, name, scene.options())).rejects.toThrow(SessionNotFoundError);
  });

  it('S11: a last line too long to look through keeps its Session, and says so', async () => {
    const scene = makeScene();
    const head = `${JSON.stringify({ type: 'session', id: 'long' })}\n`;
    scene.session('--p--/long.jsonl', {
      mtime: 90,
      content: Buffer.concat([Buffer.from(head), Buffer.alloc(65 * 1024 * 1024, 0x20)]),
    });
    const report = await pruneHistory(scene.history, scene.options());
    expect(report).toMatchObject({ total: 0, problems: { items: [{ kind: 'undatable' }] } });
  });

  it('S11: what is mounted there is not entered', async (context) => {
    const disk = smallDisk(256);
    if ('skip' in disk) return context.skip(disk.skip);
    const scene = makeScene();
    writeFileSync(join(disk.path, 'victim.jsonl'), OLD);
    utimesSync(join(disk.path, 'victim.jsonl'), daysAgo(90), daysAgo(90));
    mkdirSync(join(scene.root, '--m--'));
    execFileSync('mount', ['--bind', disk.path, join(scene.root, '--m--')]);
    try {
      const report = await pruneHistory(scene.history, scene.options());
      expect(report).toMatchObject({ total: 0, problems: { items: [{ kind: 'mount', file: '--m--' }] } });
      expect(existsSync(join(disk.path, 'victim.jsonl'))).toBe(true);
    } finally {
      execFileSync('umount', [join(scene.root, '--m--')]);
    }
  });
});

describe('while it is walked', () => {
  it('S11: a folder that is swapped for a link before the move leads nowhere', async () => {
    const scene = makeScene();
    const other = elsewhere(scene);
    const before = filesBelow(other);
    const text = scene.session('--p--/victim.jsonl', { mtime: 90 });
    let swapped = false;
    const report = await pruneHistory(
      scene.history,
      scene.options({
        between: (step) => {
          if (swapped || step !== 'after the announcement') return;
          swapped = true;
          renameSync(join(scene.root, '--p--'), join(scene.root, '--away--'));
          symlinkSync(join(other, '--p--'), join(scene.root, '--p--'));
        },
      }),
    );
    expect(swapped).toBe(true);
    expect(report.total).toBe(0);
    expect(filesBelow(other)).toEqual(before);
    expect(scene.files()).toEqual({ '--away--/victim.jsonl': text });
  });

  it('S11: while another process swaps folder and link all the time, nothing outside is touched or shown', async () => {
    const scene = makeScene();
    const other = elsewhere(scene);
    const before = filesBelow(other);
    for (let n = 0; n < 40; n++) scene.session(`--p--/own-${n}.jsonl`, { mtime: 90 });
    mkdirSync(join(scene.root, '.trash'), { recursive: true });
    symlinkSync(join(other, '--p--'), join(scene.root, 'link'));
    const code = `
      const { renameSync } = require('node:fs');
      const [a, b] = ${JSON.stringify([join(scene.root, '--p--'), join(scene.root, 'link')])};
      for (;;) try { renameSync(a, a + '.x'); renameSync(b, a); renameSync(a, b); renameSync(a + '.x', a); } catch {}`;
    const swapper = spawn(process.execPath, ['-e', code]);
    onTestFinished(() => {
      swapper.kill('SIGKILL');
    });
    const shown = new Set<string>();
    for (const end = performance.now() + 1_500; performance.now() < end; ) {
      const days = { days: 30, trashDays: 0 };
      const report = await pruneHistory(
        scene.history,
        scene.options({ retention: days, spare: ({ file }) => file.includes('own-7') }),
      );
      for (const { id } of report.sessions.items) shown.add(id);
      for (const { id } of await collect(listSessions(scene.history, scene.options()))) if (id) shown.add(id);
      await summarizeHistory(scene.history, scene.options());
    }
    expect(shown.has('own-7')).toBe(true);
    expect(shown.has('victim')).toBe(false);
    expect(filesBelow(other)).toEqual(before);
  });

  it('S11: a Session that is used in the moment before the move stays', async () => {
    const scene = makeScene();
    scene.session('--p--/used.jsonl', { mtime: 90 });
    const append = (step: string) => (now: string) => {
      if (now === step) writeFileSync(join(scene.root, '--p--/used.jsonl'), 'more\n', { flag: 'a' });
    };
    for (const step of ['after the announcement', 'before the move']) {
      const report = await pruneHistory(scene.history, scene.options({ between: append(step) }));
      expect(report, step).toMatchObject({ total: 0, problems: { items: [] } });
      expect(Object.keys(scene.files()), step).toEqual(['--p--/used.jsonl']);
      utimesSync(join(scene.root, '--p--/used.jsonl'), daysAgo(90), daysAgo(90));
    }
  });

  it('S11: one that is opened in the moment before its deletion is kept', async () => {
    const scene = makeScene();
    scene.session('--p--/mine.jsonl', { mtime: 90 });
    const report = await pruneHistory(
      scene.history,
      scene.options({
        retention: { days: 30, trashDays: 0 },
        between: (step) => {
          if (step === 'after the move') scene.open('mine', '--p--/mine.jsonl');
        },
      }),
    );
    expect(report).toMatchObject({ total: 1, keptOpen: 1 });
    expect(Object.keys(scene.files())).toHaveLength(1);
  });
});

describe('what may not be read', () => {
  it('S11: an unreadable file or folder stays and is reported, the others are pruned', async (context) => {
    if (process.getuid?.() !== 0) return context.skip('only root can act as another user');
    const scene = makeScene();
    scene.session('--p--/closed.jsonl', { mtime: 90 });
    scene.session('--p--/open.jsonl', { mtime: 90 });
    scene.session('--q--/a.jsonl', { mtime: 90 });
    scene.session('--r--/a.jsonl', { mtime: 90 });
    const paths = ['', '--p--', '--p--/open.jsonl', '--q--', '--q--/a.jsonl', '--r--', '--r--/a.jsonl'];
    for (const path of paths) chownSync(join(scene.root, path), 65_534, 65_534);
    chmodSync(join(scene.root, '..'), 0o755);
    chmodSync(join(scene.root, '--p--/closed.jsonl'), 0o600);
    chmodSync(join(scene.root, '--q--'), 0o000);
    chmodSync(join(scene.root, '--r--'), 0o500);
    const room = new URL('../../../src/history/index.ts', import.meta.url).href;
    const code = `
      process.setgid(65534); process.setgroups([]); process.setuid(65534);
      const { pruneHistory } = await import(${JSON.stringify(room)});
      const clock = { now: () => new Date(${daysAgo(0).getTime()}), monotonic: () => 0, sleep: async () => {} };
      const report = await pruneHistory(${JSON.stringify(scene.history)}, { retention: { days: 30, trashDays: 7 }, clock });
      console.log(JSON.stringify(report));`;
    const out = execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
    const report = JSON.parse(out);
    expect(report.total).toBe(1);
    expect(
      report.problems.items.map(({ file, kind }: { file: string; kind: string }) => `${kind} ${file}`).sort(),
    ).toEqual(['failed --r--/a.jsonl', 'unreadable --p--/closed.jsonl', 'unreadable --q--']);
    chmodSync(join(scene.root, '--q--'), 0o700);
    expect(Object.keys(scene.files()).sort()).toEqual([
      '--p--/closed.jsonl',
      '--q--/a.jsonl',
      '--r--/a.jsonl',
      `.trash/${TODAY}/--p--/open.jsonl.trashed`,
    ]);
  });
});
