import { existsSync, readdirSync, readFileSync, unlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  acknowledgeFirstDeletion,
  HistoryBusyError,
  pruneHistory,
  pruneMessages,
  readDeletions,
} from '../../../src/history/index.ts';
import { takeLock } from '../../../src/lib/kernel-lock.ts';
import { clockAt, collect, daysAgo, makeScene, NOW, TODAY } from './scene.ts';

describe('retention', () => {
  it('S11: moves what is older than the days to the trash, whole, and says how many', async () => {
    const scene = makeScene();
    const old = scene.session('--p--/old.jsonl', { mtime: 31 });
    const flat = scene.session('flat.jsonl', { mtime: 40 });
    const fresh = scene.session('--p--/fresh.jsonl', { mtime: 29 });
    const report = await pruneHistory(scene.history, scene.options());
    expect(scene.files()).toEqual({
      '--p--/fresh.jsonl': fresh,
      [`.trash/${TODAY}/--p--/old.jsonl.trashed`]: old,
      [`.trash/${TODAY}/flat.jsonl.trashed`]: flat,
    });
    expect(report).toMatchObject({
      total: 2,
      removed: { count: 2, oldest: daysAgo(40) },
      firstDeletion: true,
    });
    expect(pruneMessages(report, { domain: 'work' })[0]).toBe(
      'pi-sandbox: removed 2 session(s) older than 30 days',
    );
  });

  it('S11: exactly the days is not older', async () => {
    const scene = makeScene();
    scene.session('--p--/edge.jsonl', { mtime: 30 });
    expect(await pruneHistory(scene.history, scene.options())).toMatchObject({
      total: 0,
      firstDeletion: false,
    });
    expect(scene.has('--p--/edge.jsonl')).toBe(true);
  });

  it.each<[string, { mtime: number; lastEntry: number }, boolean]>([
    ['copied: a new mtime over old entries', { mtime: 1, lastEntry: 90 }, true],
    ['restored with a wrong mtime, recent entries', { mtime: 9_000, lastEntry: 1 }, true],
    ['both old', { mtime: 31, lastEntry: 90 }, false],
    ['an mtime in the future counts as now', { mtime: -400, lastEntry: 90 }, true],
    ['an entry in the future counts as now', { mtime: 90, lastEntry: -400 }, true],
  ])('S11: %s', async (_case, times, stays) => {
    const scene = makeScene();
    scene.session('--p--/s.jsonl', times);
    await pruneHistory(scene.history, scene.options());
    expect(scene.has('--p--/s.jsonl')).toBe(stays);
  });

  it('S11: a clock that jumped back makes nothing old, one that jumped ahead a day no more than that day', async () => {
    const scene = makeScene();
    scene.session('--p--/a.jsonl', { mtime: 30.5 });
    scene.session('--p--/b.jsonl', { mtime: 29.5 });
    scene.session('--p--/c.jsonl', { mtime: 28.5 });
    await pruneHistory(scene.history, scene.options({ clock: clockAt(daysAgo(365)) }));
    expect(Object.keys(scene.files())).toHaveLength(3);
    await pruneHistory(scene.history, scene.options({ clock: clockAt(daysAgo(-1)) }));
    expect(scene.has('--p--/c.jsonl')).toBe(true);
    expect(scene.has('--p--/b.jsonl')).toBe(false);
  });

  it('S11: a torn last line does not hide the last whole entry; only the header counts where nothing else is', async () => {
    const scene = makeScene();
    scene.session('--p--/torn-fresh.jsonl', { mtime: 90, lastEntry: 1, tail: '{"type":"message","time' });
    scene.session('--p--/torn-old.jsonl', { mtime: 90, tail: '{"type":"message","timestamp":"2026-11-3' });
    const header = (at: Date): string =>
      `${JSON.stringify({ type: 'session', version: 3, id: 'h', timestamp: at.toISOString(), cwd: '/p' })}\n`;
    scene.session('--p--/header-fresh.jsonl', { mtime: 90, content: header(daysAgo(2)) });
    scene.session('--p--/header-old.jsonl', { mtime: 90, content: header(daysAgo(89)) });
    scene.session('--p--/no-times.jsonl', {
      mtime: 90,
      content: '{"type":"session","id":"n"}\n{"type":"x"}\n',
    });
    await pruneHistory(scene.history, scene.options());
    expect(readdirSync(join(scene.root, '--p--')).sort()).toEqual(['header-fresh.jsonl', 'torn-fresh.jsonl']);
  });

  it('S11: a last entry of megabytes is read; the one before it, when it is torn', async () => {
    const scene = makeScene();
    const long = (at: Date): string =>
      JSON.stringify({ type: 'message', content: 'x'.repeat(3_000_000), timestamp: at.toISOString() });
    scene.session('--p--/long.jsonl', { mtime: 90, tail: `${long(daysAgo(3))}\n` });
    scene.session('--p--/cut.jsonl', { mtime: 90, lastEntry: 3, tail: long(daysAgo(90)).slice(0, -20) });
    await pruneHistory(scene.history, scene.options());
    expect(readdirSync(join(scene.root, '--p--')).sort()).toEqual(['cut.jsonl', 'long.jsonl']);
  });

  it('S11: 0 keeps everything; other rooms are not asked either', async () => {
    const scene = makeScene();
    scene.session('--p--/old.jsonl', { mtime: 4_000 });
    const others = [{ what: 'job conversations', prune: () => Promise.reject(new Error('asked')) }];
    const report = await pruneHistory(
      scene.history,
      scene.options({ retention: { days: 0, trashDays: 7 }, others }),
    );
    expect(report).toMatchObject({ total: 0, problems: { items: [] } });
    expect(scene.has('--p--/old.jsonl')).toBe(true);
  });

  it.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
    'S11: %d days is an error, and nothing is pruned',
    async (days) => {
      const scene = makeScene();
      scene.session('--p--/old.jsonl', { mtime: 90 });
      for (const retention of [
        { days, trashDays: 7 },
        { days: 30, trashDays: days },
      ])
        await expect(pruneHistory(scene.history, scene.options({ retention }))).rejects.toThrow(
          'nothing was pruned',
        );
      expect(scene.has('--p--/old.jsonl')).toBe(true);
    },
  );

  it('S11: what this start names is never affected', async () => {
    const scene = makeScene();
    scene.session('--p--/mine.jsonl', { mtime: 90, cwd: '/p' });
    scene.session('--p--/other.jsonl', { mtime: 90 });
    const report = await pruneHistory(
      scene.history,
      scene.options({
        spare: ({ id, file, cwd }) => id === 'mine' && file === '--p--/mine.jsonl' && cwd === '/p',
      }),
    );
    expect(report).toMatchObject({ spared: 1, total: 1 });
    expect(scene.has('--p--/mine.jsonl')).toBe(true);
  });

  it('S11: counts what other rooms prune with the same age, and goes on when one fails', async () => {
    const scene = makeScene();
    scene.session('--p--/old.jsonl', { mtime: 90 });
    const asked: unknown[] = [];
    const others = [
      { what: 'runs', prune: () => Promise.reject(new Error('broken')) },
      {
        what: 'job conversations',
        prune: async (how: unknown) => {
          asked.push(how);
          return { count: 3, bytes: 9 };
        },
      },
    ];
    const report = await pruneHistory(scene.history, scene.options({ others }));
    expect(report.total).toBe(4);
    expect(asked).toEqual([{ unchangedSince: daysAgo(30), dryRun: false }]);
    expect(report.problems.items).toMatchObject([{ file: 'runs', kind: 'failed', reason: 'broken' }]);
  });

  it('S11: emptied folders go, others stay, also an empty one that may be a starting pi’s', async () => {
    const scene = makeScene();
    scene.session('--emptied--/a.jsonl', { mtime: 90 });
    scene.session('--kept--/a.jsonl', { mtime: 90 });
    scene.session('--kept--/notes.txt', { content: 'mine' });
    scene.session('--fresh--/x', { content: '' });
    scene.session('--long-empty--/x', { content: '' });
    for (const folder of ['--fresh--', '--long-empty--']) {
      unlinkSync(join(scene.root, folder, 'x'));
    }
    utimesSync(join(scene.root, '--fresh--'), NOW, NOW);
    utimesSync(join(scene.root, '--long-empty--'), daysAgo(3), daysAgo(3));
    await pruneHistory(scene.history, scene.options());
    expect(readdirSync(scene.root).sort()).toEqual(['--fresh--', '--kept--', '.history', '.trash']);
  });

  it('S11: a dry run says the same and writes nothing at all', async () => {
    const scene = makeScene();
    scene.session('--p--/old.jsonl', { mtime: 31 });
    scene.session('.trash/2026-11-01/--p--/older.jsonl.trashed', { mtime: 90 });
    const before = readdirSync(scene.root, { recursive: true }).sort();
    const dry = await pruneHistory(scene.history, scene.options({ dryRun: true }));
    expect(readdirSync(scene.root, { recursive: true }).sort()).toEqual(before);
    expect(existsSync(scene.history.locks)).toBe(false);
    const wet = await pruneHistory(scene.history, scene.options());
    expect({ ...dry, dryRun: false }).toEqual(wet);
    expect(wet.expiredTrash.count).toBe(1);
  });

  it('S11: the first deletion is told with size, oldest and the way back, until it was shown', async () => {
    const scene = makeScene();
    scene.session('--p--/a.jsonl', { mtime: 31 });
    const first = await pruneHistory(scene.history, scene.options());
    const said = pruneMessages(first, { domain: 'work' }).join('\n');
    expect(said).toContain('2026-10-31');
    expect(said).toMatch(/MB|kB/);
    expect(said).toContain('sessions restore');
    scene.session('--p--/b.jsonl', { mtime: 31 });
    expect((await pruneHistory(scene.history, scene.options())).firstDeletion).toBe(true);
    await acknowledgeFirstDeletion(scene.history);
    await acknowledgeFirstDeletion(scene.history);
    scene.session('--p--/c.jsonl', { mtime: 31 });
    const later = await pruneHistory(scene.history, scene.options());
    expect(pruneMessages(later, { domain: 'work' })).toEqual([
      'pi-sandbox: removed 1 session(s) older than 30 days',
    ]);
    const none = await pruneHistory(scene.history, scene.options());
    expect(pruneMessages(none, { domain: 'work' })).toEqual([]);
  });

  it('S11: a second prune waits a bounded time for the first and says who holds it', async () => {
    const scene = makeScene();
    scene.session('--p--/old.jsonl', { mtime: 31 });
    await pruneHistory(scene.history, scene.options({ retention: { days: 0, trashDays: 7 } }));
    const lock = await takeLock(join(scene.root, '.history/lock'), {
      record: { pid: 7, host: 'other', startedAt: NOW.toISOString(), what: 'prune' },
    });
    const { clock: _, ...options } = scene.options({ waitMs: 50 });
    await expect(pruneHistory(scene.history, options)).rejects.toThrow(HistoryBusyError);
    await expect(pruneHistory(scene.history, options)).rejects.toThrow('process 7 on other');
    expect(scene.has('--p--/old.jsonl')).toBe(true);
    const second = pruneHistory(scene.history, { ...scene.options(), waitMs: 5_000 });
    lock.release();
    expect((await second).total).toBe(1);
  });

  it('S11: two prunes at once move each Session once', async () => {
    const scene = makeScene();
    for (let n = 0; n < 300; n++) scene.session(`--p${n % 7}--/s${n}.jsonl`, { mtime: 31 });
    const { clock: _, ...patient } = scene.options();
    const reports = await Promise.all(
      [1, 2, 3].map(() =>
        pruneHistory(scene.history, {
          ...patient,
          clock: { ...clockAt(NOW), sleep: (ms) => new Promise((done) => setTimeout(done, ms)) },
        }),
      ),
    );
    expect(reports.reduce((sum, { total }) => sum + total, 0)).toBe(300);
    expect(Object.keys(scene.files())).toHaveLength(300);
  });
});

describe('the log', () => {
  it('S11: has every deletion: what, when, why, how large, where to', async () => {
    const scene = makeScene();
    const text = scene.session('--p--/old.jsonl', { mtime: 31 });
    await pruneHistory(scene.history, scene.options());
    await pruneHistory(scene.history, scene.options({ clock: clockAt(daysAgo(-9)) }));
    const to = `.trash/${TODAY}/--p--/old.jsonl.trashed`;
    const facts = { id: 'old', bytes: text.length, lastChange: daysAgo(31), outcome: 'done' };
    expect(await collect(readDeletions(scene.history))).toEqual([
      {
        kind: 'entry',
        entry: {
          ...facts,
          at: NOW,
          action: 'trashed',
          why: 'retention',
          days: 30,
          file: '--p--/old.jsonl',
          to,
        },
      },
      {
        kind: 'entry',
        entry: {
          ...facts,
          at: daysAgo(-9),
          action: 'deleted',
          why: 'trash',
          days: 7,
          file: to,
          to: undefined,
        },
      },
    ]);
    expect(readFileSync(join(scene.root, '.history/deletions.log'), 'utf8')).not.toContain('hello from');
  });
});
