import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { pathsOf, workDir } from '../../../src/agent-dir/index.ts';
import { workPruner } from '../../../src/container/work-prune.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { acquireRun } from '../../../src/work/index.ts';
import { until } from '../../setup/pi.ts';
import { makeRoots } from './sandbox.ts';

function scene() {
  const roots = makeRoots();
  const root = workDir(pathsOf(roots).domainAgent);
  const notes: [string, Record<string, unknown>][] = [];
  let elapsed = 0;
  const clock = { ...systemClock, monotonic: () => elapsed };
  const start = workPruner({ roots, clock, note: (event, facts) => notes.push([event, facts]) }, 0);
  const run = async (tenant: string, days: number): Promise<string> => {
    const now = new Date(Date.now() - days * 86_400_000);
    const made = await acquireRun(
      root,
      { category: 'jobs', tenant },
      { clock: { ...systemClock, now: () => now } },
    );
    await made.release();
    return made.path;
  };
  return { root, notes, start, run, pass: (milliseconds: number) => (elapsed += milliseconds) };
}

it('W7: a start prunes also what nobody acquires any more, and notes it', async () => {
  const { notes, start, run } = scene();
  const [old, fresh] = [await run('gone', 40), await run('shop', 1)];
  start();
  await until('the prune', () => notes.length > 0);
  expect(notes).toEqual([
    ['work-pruned', { removed: 1, bytes: expect.any(Number), left: 0, first: undefined, cut: false }],
  ]);
  expect([existsSync(old), existsSync(fresh)]).toEqual([false, true]);
});

it('W7: the next starts do not, for an hour', async () => {
  const { notes, start, run, pass } = scene();
  await run('a', 40);
  start();
  await until('the prune', () => notes.length === 1);
  const old = await run('b', 40);
  pass(59 * 60_000);
  start();
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(existsSync(old)).toBe(true);
  pass(60_000);
  start();
  await until('the next prune', () => notes.length === 2);
  expect(existsSync(old)).toBe(false);
});

it('W7: what cannot be pruned is noted', async () => {
  const { root, notes, start } = scene();
  mkdirSync(join(root, '..'), { recursive: true });
  writeFileSync(root, '');
  start();
  await until('the note', () => notes.length > 0);
  expect(notes).toMatchObject([['work-prune-failed', { reason: expect.stringContaining('open directory') }]]);
});
