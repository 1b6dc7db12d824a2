import { once } from 'node:events';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  clearHistory,
  listTrash,
  logBroughtBack,
  openArrival,
  pruneHistory,
  pruneMessages,
  readDeletions,
  removeSession,
  restoreSession,
  SessionOpenError,
} from '../../../src/history/index.ts';
import { bringBackFromTrash } from '../../../src/pi/index.ts';
import { piCli } from '../../setup/pi.ts';
import { clockAt, collect, daysAgo, makeScene, RETENTION, sessionText, TODAY } from './scene.ts';

const OFF = { days: 30, trashDays: 0 };

afterEach(() => vi.unstubAllEnvs());

describe('the trash', () => {
  it('S11: turned off, what leaves is deleted and counted once; what was in there from before is counted apart', async () => {
    const scene = makeScene();
    scene.session('.trash/2026-11-30/--p--/before.jsonl.trashed', { mtime: 90 });
    const text = scene.session('--p--/old.jsonl', { mtime: 90, tail: ' '.repeat(2_000_000) });
    const report = await pruneHistory(scene.history, scene.options({ retention: OFF }));
    expect(report).toMatchObject({
      total: 1,
      removed: { count: 1, bytes: text.length },
      expiredTrash: { count: 1 },
    });
    expect(pruneMessages(report, { domain: 'work' })[1]).toContain(': 2.0 MB,');
    expect(scene.files()).toEqual({});
    const log = await collect(readDeletions(scene.history));
    expect(log.map((line) => line.kind === 'entry' && `${line.entry.id} ${line.entry.action}`)).toEqual([
      'old trashed',
      'old deleted',
      'before deleted',
    ]);
  });

  it('S11: keeps a Session for whole days, then deletes it with its folders', async () => {
    const scene = makeScene();
    scene.session('--p--/old.jsonl', { mtime: 31 });
    await pruneHistory(scene.history, scene.options());
    await pruneHistory(scene.history, scene.options({ clock: clockAt(new Date('2026-12-08T23:59:59Z')) }));
    expect(Object.keys(scene.files())).toEqual([`.trash/${TODAY}/--p--/old.jsonl.trashed`]);
    const report = await pruneHistory(
      scene.history,
      scene.options({ clock: clockAt(new Date('2026-12-09T00:00:01Z')) }),
    );
    expect(report).toMatchObject({ total: 0, expiredTrash: { count: 1 } });
    expect(scene.files()).toEqual({});
    expect(existsSync(join(scene.root, '.trash', TODAY))).toBe(false);
  });

  it('S11: pi’s own listing sees nothing of it', async () => {
    const scene = makeScene();
    scene.session('--p--/old.jsonl', { mtime: 31 });
    scene.session('flat.jsonl', { mtime: 31 });
    await pruneHistory(scene.history, scene.options());
    scene.session('--p--/fresh.jsonl');
    vi.stubEnv('PI_CODING_AGENT_DIR', dirname(scene.root));
    const { SessionManager } = await import(
      pathToFileURL(piCli().replace(/bundle\/cli\.js$/, 'index.js')).href
    );
    const listed: { id: string }[] = await SessionManager.listAll();
    expect(listed.map(({ id }) => id)).toEqual(['fresh']);
  });

  it('S11: keeps both when the same file expires twice on one day; the newest comes back first', async () => {
    const scene = makeScene();
    const texts = [1, 2, 3].map((n) => sessionText({ id: 's', lastEntry: 40 + n }));
    for (const content of texts) {
      scene.session('--p--/s.jsonl', { mtime: 40, content });
      await pruneHistory(scene.history, scene.options());
    }
    expect(Object.keys(scene.files()).sort()).toEqual([
      `.trash/${TODAY}/--p--/s.jsonl.2.trashed`,
      `.trash/${TODAY}/--p--/s.jsonl.3.trashed`,
      `.trash/${TODAY}/--p--/s.jsonl.trashed`,
    ]);
    const file = join(scene.root, '--p--/s.jsonl');
    expect(bringBackFromTrash(file, 's')).toMatchObject({ outcome: 'restored' });
    expect(readFileSync(file, 'utf8')).toBe(texts[2]);
    expect((await removeSession(scene.history, 's', { clock: clockAt(daysAgo(0)) })).trashed).toBe(
      `.trash/${TODAY}/--p--/s.jsonl.3.trashed`,
    );
    await restoreSession(scene.history, 's', { clock: clockAt(daysAgo(0)) });
    expect(readFileSync(file, 'utf8')).toBe(texts[2]);
  });

  it('S11: an open Session that expired goes there too, and stays as long as it is open', async () => {
    const scene = makeScene();
    scene.session('--p--/mine.jsonl', { mtime: 90 });
    const release = scene.open('mine', '--p--/mine.jsonl');
    const later = scene.options({ clock: clockAt(daysAgo(-100)) });
    expect((await pruneHistory(scene.history, scene.options())).sessions.items).toMatchObject([
      { open: true },
    ]);
    expect(await pruneHistory(scene.history, later)).toMatchObject({
      keptOpen: 1,
      expiredTrash: { count: 0 },
    });
    expect(Object.keys(scene.files())).toHaveLength(1);
    release();
    await pruneHistory(scene.history, later);
    expect(scene.files()).toEqual({});
  });

  it.each(['id', 'path'])(
    'S11: with the trash off only what is open is kept there, known by its %s',
    async (by) => {
      const scene = makeScene();
      const text = scene.session('--p--/mine.jsonl', { mtime: 90 });
      scene.session('--p--/other.jsonl', { mtime: 90 });
      scene.open(by === 'id' ? 'mine' : 'x', by === 'id' ? '--p--/elsewhere.jsonl' : '--p--/mine.jsonl');
      const report = await pruneHistory(scene.history, scene.options({ retention: OFF }));
      expect(scene.files()).toEqual({ [`.trash/${TODAY}/--p--/mine.jsonl.trashed`]: text });
      expect(report).toMatchObject({ total: 2, keptOpen: 1, expiredTrash: { count: 0 } });
      expect(report.sessions.items.map(({ file, trashed }) => [file, trashed !== undefined]).sort()).toEqual([
        ['--p--/mine.jsonl', true],
        ['--p--/other.jsonl', false],
      ]);
      expect(bringBackFromTrash(join(scene.root, '--p--/mine.jsonl'), 'mine').outcome).toBe('restored');
    },
  );

  it('S11: with another mount the lock by path is looked for where sandboxes have it', async () => {
    const scene = makeScene();
    scene.session('--p--/mine.jsonl', { mtime: 90 });
    const elsewhere = { ...scene.history, sessions: `${scene.root}-2`, mountedAt: scene.root };
    scene.open('x', '--p--/mine.jsonl');
    renameSync(scene.root, `${scene.root}-2`);
    expect(await pruneHistory(elsewhere, scene.options({ retention: OFF }))).toMatchObject({ keptOpen: 1 });
  });

  it('S11: a day in the future was a wrong clock’s: its Sessions get their days from today', async () => {
    const scene = makeScene();
    const text = scene.session('.trash/2099-01-01/--p--/s.jsonl.trashed', { mtime: 31 });
    scene.session('.trash/2026-12-02/--p--/tomorrow.jsonl.trashed', { mtime: 31 });
    await pruneHistory(scene.history, scene.options());
    expect(scene.files()[`.trash/${TODAY}/--p--/s.jsonl.trashed`]).toBe(text);
    expect(scene.has('.trash/2026-12-02/--p--/tomorrow.jsonl.trashed')).toBe(true);
    await pruneHistory(scene.history, scene.options({ clock: clockAt(daysAgo(-20)) }));
    expect(scene.files()).toEqual({});
  });

  it('S11: what is no Session in there stays and is reported', async () => {
    const scene = makeScene();
    scene.session('.trash/2026-01-01/--p--/notes.txt', { content: 'x' });
    scene.session('.trash/2026-01-01/--p--/damaged.jsonl.trashed', { content: 'x' });
    scene.session('.trash/keep/--p--/s.jsonl.trashed', { mtime: 300 });
    const report = await pruneHistory(scene.history, scene.options());
    expect(Object.keys(scene.files())).toHaveLength(3);
    expect(report.problems.items.map(({ file, kind }) => [file, kind]).sort()).toEqual([
      ['.trash/2026-01-01/--p--/damaged.jsonl.trashed', 'no-session'],
      ['.trash/2026-01-01/--p--/notes.txt', 'foreign'],
      ['.trash/keep', 'foreign'],
    ]);
  });

  it('S13: lists what is in it, from where, until when', async () => {
    const scene = makeScene();
    scene.session('--p--/a.jsonl', { mtime: 31, cwd: '/p' });
    scene.session('b.jsonl', { mtime: 31 });
    scene.open('b', 'b.jsonl');
    await pruneHistory(scene.history, scene.options());
    const rows = await collect(listTrash(scene.history, scene.options()));
    expect(rows.sort((x, y) => x.original.localeCompare(y.original))).toMatchObject([
      {
        original: '--p--/a.jsonl',
        id: 'a',
        cwd: '/p',
        day: TODAY,
        expires: new Date('2026-12-09'),
        open: false,
      },
      { original: 'b.jsonl', id: 'b', expires: undefined, open: true, lastChange: daysAgo(31) },
    ]);
  });
});

describe('restore', () => {
  it('S11: puts it back, whole, and no prune takes it again at once', async () => {
    const scene = makeScene();
    const text = scene.session('--p--/old.jsonl', { mtime: 90 });
    await pruneHistory(scene.history, scene.options());
    expect(await restoreSession(scene.history, 'old', scene.options())).toEqual({
      from: `.trash/${TODAY}/--p--/old.jsonl.trashed`,
      file: '--p--/old.jsonl',
      id: 'old',
    });
    expect(scene.files()).toEqual({ '--p--/old.jsonl': text });
    expect(statSync(join(scene.root, '--p--/old.jsonl')).mtime).toEqual(daysAgo(0));
    expect((await pruneHistory(scene.history, scene.options())).total).toBe(0);
    expect((await pruneHistory(scene.history, scene.options({ clock: clockAt(daysAgo(-31)) }))).total).toBe(
      1,
    );
  });

  it('S11: never over a file: both are kept', async () => {
    const scene = makeScene();
    const text = scene.session('--p--/old.jsonl', { mtime: 90 });
    await pruneHistory(scene.history, scene.options());
    scene.session('--p--/old.jsonl', { content: 'standing' });
    const trashed = join(scene.root, `.trash/${TODAY}/--p--/old.jsonl.trashed`);
    const { mtimeMs } = statSync(trashed);
    await expect(restoreSession(scene.history, 'old')).rejects.toThrow('is there already');
    expect(statSync(trashed).mtimeMs).toBe(mtimeMs);
    expect(scene.files()).toEqual({
      '--p--/old.jsonl': 'standing',
      [`.trash/${TODAY}/--p--/old.jsonl.trashed`]: text,
    });
    const log = await collect(readDeletions(scene.history));
    expect(log.at(-1)).toMatchObject({ entry: { action: 'restored', outcome: 'failed' } });
  });

  it('S11: of one that was killed half way, the next one finishes it, and so does the pi that has it open', async () => {
    const scene = makeScene();
    const trashed = join(scene.root, `.trash/${TODAY}/--p--/s.jsonl.trashed`);
    const file = join(scene.root, '--p--/s.jsonl');
    const halfWay = (): void => linkSync(file, trashed);
    const text = scene.session('--p--/s.jsonl');
    mkdirSync(dirname(trashed), { recursive: true });
    halfWay();
    await restoreSession(scene.history, 's', scene.options());
    expect(scene.files()).toEqual({ '--p--/s.jsonl': text });
    mkdirSync(dirname(trashed), { recursive: true });
    halfWay();
    expect(bringBackFromTrash(file, 's')).toMatchObject({ outcome: 'restored', from: trashed });
    expect(scene.files()).toEqual({ '--p--/s.jsonl': text });
  });

  it('S11: that it came back to its pi is in the log, also where pi reaches the history by a link', async () => {
    const scene = makeScene();
    const sessions = `${scene.root}-link`;
    symlinkSync(scene.root, sessions);
    scene.session(`.trash/${TODAY}/--p--/s.jsonl.trashed`, { id: 's', mtime: 90 });
    const file = join(sessions, '--p--/s.jsonl');
    const back = bringBackFromTrash(file, 's');
    if (back.outcome !== 'restored') throw new Error(back.outcome);
    await logBroughtBack({ ...back, file, id: 's', bytes: 1, lastChange: daysAgo(90) });
    expect(await collect(readDeletions(scene.history))).toMatchObject([
      {
        entry: {
          action: 'restored',
          why: 'used',
          file: `.trash/${TODAY}/--p--/s.jsonl.trashed`,
          to: '--p--/s.jsonl',
          outcome: 'done',
        },
      },
    ]);
  });

  it('S11: comes back to its pi also while a prune removes the folder that it emptied', async () => {
    const scene = makeScene();
    const folder = join(scene.root, '--p--');
    const remover = new Worker(
      `const { rmdirSync } = require('node:fs');
       const { workerData } = require('node:worker_threads');
       const never = new Int32Array(new SharedArrayBuffer(4));
       // With uneven pauses, since a prune comes by once: in step with the tries it would meet every one of them.
       for (const end = Date.now() + 30_000; Date.now() < end; Atomics.wait(never, 0, 0, Math.random() / 4))
         try { rmdirSync(workerData); } catch {}`,
      { eval: true, workerData: folder },
    );
    onTestFinished(async () => void (await remover.terminate()));
    await once(remover, 'online');
    for (let round = 0; round < 300; round++) {
      scene.session(`.trash/${TODAY}/--p--/s.jsonl.trashed`, { id: 's' });
      expect(bringBackFromTrash(join(folder, 's.jsonl'), 's').outcome).toBe('restored');
      rmSync(join(folder, 's.jsonl'));
    }
  });

  it('S11: a restore that was killed half way is finished by the next prune, and nothing is lost', async () => {
    const scene = makeScene();
    scene.session('.trash/2026-11-01/--p--/s.jsonl.trashed', { mtime: 0 });
    mkdirSync(join(scene.root, '--p--'));
    linkSync(join(scene.root, '.trash/2026-11-01/--p--/s.jsonl.trashed'), join(scene.root, '--p--/s.jsonl'));
    await pruneHistory(scene.history, scene.options());
    expect(Object.keys(scene.files())).toEqual(['--p--/s.jsonl']);
  });

  it('S11: says so when there is none, and which when there are several', async () => {
    const scene = makeScene();
    scene.session('.trash/2026-11-30/--a--/abc-1.jsonl.trashed');
    scene.session('.trash/2026-11-30/--b--/abc-2.jsonl.trashed');
    scene.session('--p--/abc-3.jsonl');
    await expect(restoreSession(scene.history, 'zzz')).rejects.toThrow(
      'no Session in the trash is named zzz',
    );
    await expect(restoreSession(scene.history, 'abc-3')).rejects.toThrow('no Session');
    await expect(restoreSession(scene.history, 'abc')).rejects.toThrow(
      /2 Sessions: .*--a--.*--b--|2 Sessions: .*--b--.*--a--/,
    );
    await restoreSession(scene.history, '.trash/2026-11-30/--b--/abc-2.jsonl.trashed');
    expect(scene.has('--b--/abc-2.jsonl')).toBe(true);
  });
});

describe('rm and clear', () => {
  it('S13: rm moves to the trash, with now it deletes; an open one only with force', async () => {
    const scene = makeScene();
    for (const id of ['a', 'b', 'c']) scene.session(`--p--/${id}.jsonl`);
    const release = scene.open('c', '--p--/c.jsonl');
    const at = scene.options();
    expect((await removeSession(scene.history, 'a', at)).trashed).toBe(
      `.trash/${TODAY}/--p--/a.jsonl.trashed`,
    );
    expect(
      (await removeSession(scene.history, '--p--/b.jsonl', { ...at, now: true })).trashed,
    ).toBeUndefined();
    await expect(removeSession(scene.history, 'c', at)).rejects.toThrow(SessionOpenError);
    expect(await removeSession(scene.history, 'c', { ...at, force: true })).toMatchObject({ open: true });
    release();
    expect(Object.keys(scene.files()).sort()).toEqual([
      `.trash/${TODAY}/--p--/a.jsonl.trashed`,
      `.trash/${TODAY}/--p--/c.jsonl.trashed`,
    ]);
    await removeSession(scene.history, 'a', at);
    expect(Object.keys(scene.files())).toHaveLength(1);
    const entries = (await collect(readDeletions(scene.history))).map((line) =>
      line.kind === 'entry' ? `${line.entry.action} ${line.entry.file} ${line.entry.why}` : '',
    );
    expect(entries).toEqual([
      'trashed --p--/a.jsonl asked',
      'deleted --p--/b.jsonl asked',
      'trashed --p--/c.jsonl asked',
      `deleted .trash/${TODAY}/--p--/a.jsonl.trashed asked`,
    ]);
  });

  it('S13: clear deletes all at once, the trash and damaged ones included, and nothing else', async () => {
    const scene = makeScene();
    const outside = `${scene.root}-outside`;
    writeFileSync(outside, 'kept');
    scene.session('--p--/a.jsonl');
    scene.session('--p--/empty.jsonl', { content: '' });
    scene.session('--q--/damaged.jsonl', { content: 'no header' });
    scene.session('flat.jsonl', { mtime: 90 });
    scene.session('.trash/2026-11-30/--p--/t.jsonl.trashed');
    scene.session('--p--/notes.txt', { content: 'mine' });
    symlinkSync(outside, join(scene.root, '--p--/link.jsonl'));
    const report = await clearHistory(scene.history, scene.options());
    expect(report).toMatchObject({ sessions: { count: 4 }, trash: { count: 1 } });
    expect(scene.files()).toEqual({ '--p--/notes.txt': 'mine' });
    expect(existsSync(join(scene.root, '--q--'))).toBe(false);
    expect(readFileSync(outside, 'utf8')).toBe('kept');
    expect(report.problems.items.map(({ kind }) => kind).sort()).toEqual(['foreign', 'link']);
    expect((await collect(readDeletions(scene.history))).length).toBe(5);
  });

  it('S13: clear leaves no copy that a killed import has left, and does not disturb one that is at work', async () => {
    const scene = makeScene();
    const arrival = openArrival(scene.root);
    onTestFinished(() => arrival.close());
    writeFileSync(arrival.stage.at('1'), 'arriving');
    scene.session('.pi-sandbox-arriving-0123456789abcdef/1', { content: 'left behind' });
    await clearHistory(scene.history, scene.options());
    expect(Object.values(scene.files()).filter((text) => text !== '')).toEqual(['arriving']);
  });

  it('S13: clear deletes nothing while one of them is open, also in the trash, without force', async () => {
    const scene = makeScene();
    scene.session('--p--/a.jsonl');
    scene.session('--p--/b.jsonl', { mtime: 90 });
    const release = scene.open('b', '--p--/b.jsonl');
    await expect(clearHistory(scene.history, scene.options())).rejects.toThrow(SessionOpenError);
    await pruneHistory(scene.history, scene.options({ retention: RETENTION }));
    await expect(clearHistory(scene.history, scene.options())).rejects.toThrow('b.jsonl');
    expect(Object.keys(scene.files())).toHaveLength(2);
    await clearHistory(scene.history, { ...scene.options(), force: true });
    release();
    expect(scene.files()).toEqual({});
  });
});
