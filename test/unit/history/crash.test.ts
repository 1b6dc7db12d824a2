import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openDeletionLog } from '../../../src/history/deletion-log.ts';
import {
  type DeletionEntry,
  pruneHistory,
  readDeletions,
  restoreSession,
} from '../../../src/history/index.ts';
import { makeChildDirectory, openDirectory } from '../../../src/lib/directory-handle.ts';
import { clockAt, collect, daysAgo, makeScene, NOW, type Scene, sessionText, TODAY } from './scene.ts';

const ROOM = new URL('../../../src/history/index.ts', import.meta.url).href;

/** Runs one call in a process that is killed at its `step`th step; false when it came to its end. */
function killedAt(step: number, scene: Scene, call: string, options: object): boolean {
  const code = `
    const room = await import(${JSON.stringify(ROOM)});
    const clock = { now: () => new Date(${NOW.getTime()}), monotonic: () => 0, sleep: async () => {} };
    let steps = 0;
    const between = () => { if (++steps === ${step}) process.kill(process.pid, 'SIGKILL'); };
    const history = ${JSON.stringify(scene.history)};
    const options = { clock, between, ...${JSON.stringify(options)} };
    await room.${call};`;
  const { signal, status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
  });
  if (signal === null && status !== 0) throw new Error(stderr);
  return signal === 'SIGKILL';
}

async function logOf(scene: Scene): Promise<DeletionEntry[]> {
  const lines = await collect(readDeletions(scene.history));
  return lines.flatMap((line) => (line.kind === 'entry' ? [line.entry] : []));
}

describe('killed between any two steps', () => {
  it.each([7, 0])(
    'S11: a prune with %d days of trash loses no Session and leaves no deletion unlogged',
    async (trashDays) => {
      for (let step = 1, killed = true; killed; step++) {
        const scene = makeScene();
        const texts = ['a', 'b'].map((id) => scene.session(`--p--/${id}.jsonl`, { mtime: 90 }));
        const gone = scene.session('.trash/2026-11-01/--p--/t.jsonl.trashed', { mtime: 90 });
        const fresh = scene.session('--p--/fresh.jsonl', { mtime: 1 });
        const retention = { days: 30, trashDays };
        killed = killedAt(step, scene, 'pruneHistory(history, options)', { retention });
        const after = Object.values(scene.files());
        expect(after, `step ${step}`).toContain(fresh);
        const deleted = new Set(
          (await logOf(scene)).filter(({ action }) => action === 'deleted').map(({ id }) => id),
        );
        for (const [id, text] of [
          ['a', texts[0]],
          ['b', texts[1]],
          ['t', gone],
        ] as const) {
          const copies = after.filter((content) => content === text).length;
          expect(copies, `step ${step}: ${id}`).toBeLessThanOrEqual(1);
          if (copies === 0) expect(deleted, `step ${step}: ${id}`).toContain(id);
          if (trashDays > 0 && id !== 't') expect(copies, `step ${step}: ${id}`).toBe(1);
        }
        // The next start goes on as if nothing had been.
        await pruneHistory(scene.history, scene.options({ retention }));
        expect(Object.keys(scene.files()).sort()).toEqual(
          trashDays === 0
            ? ['--p--/fresh.jsonl']
            : [
                '--p--/fresh.jsonl',
                `.trash/${TODAY}/--p--/a.jsonl.trashed`,
                `.trash/${TODAY}/--p--/b.jsonl.trashed`,
              ],
        );
        if (!killed) expect(step).toBeGreaterThan(8);
      }
    },
    60_000,
  );

  it('S11: a restore loses nothing and can be done again', async () => {
    for (let step = 1, killed = true; killed; step++) {
      const scene = makeScene();
      const text = scene.session('.trash/2026-11-30/--p--/s.jsonl.trashed', { mtime: 90 });
      killed = killedAt(step, scene, "restoreSession(history, 's', options)", {});
      expect(Object.values(scene.files())).toContain(text);
      if (killed) await restoreSession(scene.history, 's', scene.options());
      expect(scene.files()).toEqual({ '--p--/s.jsonl': text });
    }
  }, 60_000);
});

describe('the log', () => {
  const intent = { action: 'trashed', why: 'retention', file: 'a.jsonl', bytes: 1 } as const;

  async function withLog(
    scene: Scene,
    work: (log: ReturnType<typeof openDeletionLog>) => Promise<void>,
    maxBytes?: number,
  ): Promise<void> {
    const root = openDirectory(scene.root);
    const own = makeChildDirectory(root, '.history');
    try {
      await work(openDeletionLog(own, { now: () => NOW, ...(maxBytes === undefined ? {} : { maxBytes }) }));
    } finally {
      own.close();
      root.close();
    }
  }

  it('S11: says of what was announced whether it came about: done, failed, or unknown after a crash', async () => {
    const scene = makeScene();
    await withLog(scene, async (log) => {
      await log.record([intent, { ...intent, file: 'b.jsonl' }], async () => new Set(['b.jsonl']), false);
      const crash = log.record(
        [{ ...intent, file: 'c.jsonl' }],
        () => Promise.reject(new Error('crash')),
        false,
      );
      await expect(crash).rejects.toThrow('crash');
      await log.record([{ ...intent, file: 'd.jsonl' }], async () => new Set(), false);
    });
    expect((await logOf(scene)).map(({ file, outcome }) => `${file} ${outcome}`)).toEqual([
      'a.jsonl done',
      'b.jsonl failed',
      'c.jsonl unknown',
      'd.jsonl done',
    ]);
    expect(statSync(join(scene.root, '.history/deletions.log')).mode & 0o777).toBe(0o600);
  });

  it('S11: says that it failed also of a batch with the longest names', async () => {
    const scene = makeScene();
    const files = Array.from({ length: 256 }, (_, n) => `${'f'.repeat(250)}/${'n'.repeat(240)}${n}.jsonl`);
    await withLog(scene, (log) =>
      log.record(
        files.map((file) => ({ ...intent, file })),
        async () => new Set(files),
        false,
      ),
    );
    expect(new Set((await logOf(scene)).map(({ outcome }) => outcome))).toEqual(new Set(['failed']));
  });

  it('S11: skips torn lines and those of a newer version, and says how many', async () => {
    const scene = makeScene();
    await withLog(scene, async (log) => {
      await log.record([intent], async () => new Set(), false);
      const path = join(scene.root, '.history/deletions.log');
      appendFileSync(path, '{"version":2,"kind":"intent","new":true}\nnot json\n{"version":1,"kind":"int');
      await log.record([{ ...intent, file: 'b.jsonl' }], async () => new Set(), false);
    });
    const lines = await collect(readDeletions(scene.history));
    expect(lines.map((line) => (line.kind === 'entry' ? line.entry.file : line.lines))).toEqual([
      'a.jsonl',
      'b.jsonl',
      3,
    ]);
    expect(readFileSync(join(scene.root, '.history/deletions.log'), 'utf8')).toContain('"version":2');
  });

  it('rule 7: is bounded: the oldest part goes when there are four', async () => {
    const scene = makeScene();
    await withLog(
      scene,
      async (log) => {
        for (let n = 0; n < 60; n++)
          await log.record([{ ...intent, file: `${n}.jsonl` }], async () => new Set(), false);
      },
      1_000,
    );
    const entries = await logOf(scene);
    expect(entries.at(-1)).toMatchObject({ file: '59.jsonl', outcome: 'done' });
    expect(entries.length).toBeLessThan(30);
    expect(entries.every(({ outcome }) => outcome === 'done')).toBe(true);
    expect(entries.map(({ file }) => Number.parseInt(file, 10))).toEqual(
      entries.map((_, n) => 60 - entries.length + n),
    );
  });

  it('S11: on a history that never lost anything it is empty', async () => {
    expect(await collect(readDeletions(makeScene().history))).toEqual([]);
  });
});

describe('what a killed writer left', () => {
  it('rule 2: a temporary file of ours goes after a day, and not before', async () => {
    const scene = makeScene();
    const file = '--p--/.pi-sandbox-tmp-0123456789abcdef0123456789abcdef';
    scene.session(file, { content: sessionText({ id: 'x' }) });
    // A migration gives it the Session's old mtime before it takes its place.
    utimesSync(join(scene.root, file), daysAgo(90), daysAgo(90));
    const after = (hours: number) =>
      scene.options({ clock: clockAt(new Date(Date.now() + hours * 3_600_000)) });
    await pruneHistory(scene.history, after(23));
    expect(Object.keys(scene.files())).toEqual([file]);
    await pruneHistory(scene.history, after(25));
    expect(scene.files()).toEqual({});
    expect(await logOf(scene)).toMatchObject([{ action: 'deleted', why: 'leftover', outcome: 'done' }]);
  });
});

describe('any history, any retention', () => {
  const days = fc.oneof(fc.integer({ min: -5, max: 120 }), fc.constantFrom(0, 29, 30, 31));
  const session = fc.record({
    folder: fc.constantFrom('', '--a--/', '--a-b--/', '.dot/'),
    mtime: days,
    lastEntry: days,
    spared: fc.boolean(),
    open: fc.boolean(),
    kind: fc.constantFrom('whole', 'torn', 'no-header', 'empty', 'foreign'),
  });

  it('S11: exactly the expired ones that are not spared move, byte for byte, and nothing else changes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(session, { maxLength: 30 }),
        fc.integer({ min: 0, max: 60 }),
        fc.constantFrom(0, 1, 7),
        async (sessions, keep, trashDays) => {
          const scene = makeScene();
          const expected: Record<string, string> = {};
          const locks: (() => void)[] = [];
          sessions.forEach(({ folder, kind, ...one }, n) => {
            const id = `${one.spared ? 'spared' : 's'}-${n}`;
            const file = `${folder}${id}${kind === 'foreign' ? '.json' : '.jsonl'}`;
            const content = {
              whole: undefined,
              foreign: undefined,
              torn: undefined,
              'no-header': '{"a":1}\n',
              empty: '',
            }[kind];
            const text = scene.session(file, {
              id,
              ...one,
              ...(content === undefined ? {} : { content }),
              ...(kind === 'torn' ? { tail: '{"type":"mess' } : {}),
            });
            if (one.open) locks.push(scene.open(id, file));
            const isSession = kind === 'whole' || kind === 'torn';
            const expired = keep > 0 && isSession && !one.spared && Math.min(one.mtime, one.lastEntry) > keep;
            if (!expired) expected[file] = text;
            else if (trashDays > 0 || one.open) expected[`.trash/${TODAY}/${file}.trashed`] = text;
          });
          const report = await pruneHistory(
            scene.history,
            scene.options({
              retention: { days: keep, trashDays },
              spare: ({ id }) => id.startsWith('spared'),
            }),
          );
          for (const release of locks) release();
          expect(scene.files()).toEqual(expected);
          expect(report.total + report.expiredTrash.count).toBeGreaterThanOrEqual(
            sessions.length - Object.keys(expected).length,
          );
        },
      ),
      { seed: 11, numRuns: 60 },
    );
  }, 60_000);
});
