/** What the system refuses is no word about a run: nothing fresh goes for it, and nothing else waits for it (rule 3). */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { acquireRun, lookAt, pruneAll, retentionOf } from '../../../src/work/index.ts';
import { CATEGORY, clockAt, makeScene, NAME, NOW, runLimited } from './scene.ts';

const AS_ROOT = process.getuid?.() === 0;

it('W7: a process without descriptors left removes no fresh run for it, and says so', async () => {
  const scene = makeScene();
  const path = await scene.run('deep');
  mkdirSync(join(path, 'd/'.repeat(30)), { recursive: true });
  const { stdout } = runLimited(
    'ulimit -n 200',
    `const fs = await import('node:fs');
     await room.pruneTenant(args[0], ${JSON.stringify(NAME)}, room.retentionOf());
     const taken = [];
     try { for (;;) taken.push(fs.openSync('/dev/null')); } catch {}
     for (let n = 0; n < 16; n++) fs.closeSync(taken.pop());
     const { problems } = await room.pruneTenant(args[0], ${JSON.stringify(NAME)}, room.retentionOf());
     console.log(JSON.stringify(problems.items));`,
    scene.root,
  );
  expect(JSON.parse(stdout)).toMatchObject([
    { path: 'jobs/shop/deep', kind: 'failed', reason: expect.stringContaining('too many open files') },
  ]);
  expect(existsSync(join(path, 'd/'.repeat(30)))).toBe(true);
});

it('W7: a category that is another file system is reported, and keeps no other from being pruned', async (context) => {
  if (!AS_ROOT) return context.skip('only root can mount');
  const scene = makeScene();
  await scene.run('old', { days: 40 });
  const mounted = join(scene.root, 'another');
  mkdirSync(mounted);
  execFileSync('mount', ['--bind', '/dev', mounted]);
  try {
    const problem = {
      path: 'another',
      kind: 'failed',
      reason: expect.stringContaining('another file system'),
    };
    expect((await lookAt(scene.root)).problems.items).toMatchObject([problem]);
    const { removed, problems } = await pruneAll(scene.root, retentionOf(), { clock: clockAt(NOW) });
    expect(removed.items).toMatchObject([{ runId: 'old' }]);
    expect(problems.items).toMatchObject([problem]);
  } finally {
    execFileSync('umount', [mounted]);
  }
});

it('W4: a release with delete leaves what somebody put in the place of the run as it is', async () => {
  const scene = makeScene();
  const run = await acquireRun(scene.root, { ...NAME, runId: 'r' });
  rmSync(run.path, { recursive: true });
  mkdirSync(run.path);
  writeFileSync(join(run.path, 'mine'), '');
  expect(await run.release({ delete: true })).toEqual({ deleted: false });
  expect(readdirSync(run.path)).toEqual(['mine']);
});

it('W5: an acquire that is called off after it had the run holds nothing', async () => {
  const scene = makeScene();
  const abort = new AbortController();
  const between = (step: string): void => {
    if (step === 'built') abort.abort();
  };
  const request = { ...NAME, runId: 'r' };
  await expect(acquireRun(scene.root, request, { signal: abort.signal, between })).rejects.toThrow('aborted');
  expect((await lookAt(scene.root, { category: CATEGORY })).runs).toMatchObject([
    { runId: 'r', inUse: false },
  ]);
});

it('W8: on a read-only file system it says what is held, and an acquire what is the matter', async (context) => {
  if (!AS_ROOT) return context.skip('only root can mount');
  const scene = makeScene();
  const path = await scene.run('dead');
  // What a crash leaves of a marker, by a program that made it with other rights.
  writeFileSync(join(path, '.leases', `${'a'.repeat(32)}.lease`), '', { mode: 0o644 });
  execFileSync('mount', ['--bind', scene.root, scene.root]);
  execFileSync('mount', ['-o', 'remount,ro,bind', scene.root]);
  try {
    const { runs, problems } = await lookAt(scene.root);
    expect({ runs, problems: problems.items }).toMatchObject({ runs: [{ inUse: false }], problems: [] });
    await expect(acquireRun(scene.root, NAME)).rejects.toThrow('read-only file system');
  } finally {
    execFileSync('umount', [scene.root]);
  }
});
