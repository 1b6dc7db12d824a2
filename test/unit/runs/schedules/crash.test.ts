import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isHeld } from '../../../../src/lib/kernel-lock.ts';
import { isRunId, readHistory, runLock } from '../../../../src/runs/index.ts';
import { type ScheduleWorld, scheduleWorld } from '../../../setup/schedule-world.ts';

const PROCESS = join(import.meta.dirname, 'firing-process.ts');

function argumentsOf(world: ScheduleWorld, step: number, fault: string): string[] {
  return [PROCESS, join(world.place.root, '..', '..'), '2026-12-01T12:00:10Z', String(step), fault];
}

function runDirectories({ place }: ScheduleWorld): string[] {
  return readdirSync(place.root)
    .filter(isRunId)
    .map((name) => join(place.root, name));
}

/** One run that somebody executes, and nothing open. */
async function expectFiredOnce(world: ScheduleWorld, what: string): Promise<void> {
  const [run = '', ...others] = runDirectories(world);
  expect(others, what).toEqual([]);
  expect(existsSync(join(run, 'manifest.json')), what).toBe(true);
  expect(isHeld(runLock(run)), what).toBe(true);
  const schedule = await world.schedule();
  expect(schedule, what).toMatchObject({
    planned: null,
    lastInstant: '2026-12-01T12:00:00.000Z',
    lastStarted: '2026-12-01T12:00:00.000Z',
  });
  const told = await readHistory(world.place, schedule.scheduleId);
  expect(told.filter((line) => line.what === 'started').length, what).toBeLessThanOrEqual(1);
}

describe('a firing that is interrupted (R10)', () => {
  it.each([
    ['kill', 2],
    ['ENOSPC', 6],
  ])(
    'R10: %s at any change to the file system: the next look finishes it, and there is one run',
    async (fault, stride) => {
      let steps = 0;
      for (let step = 1, hit = true; hit; step += stride) {
        const world = scheduleWorld();
        try {
          await world.add();
          const { signal, stdout, stderr } = spawnSync(process.execPath, argumentsOf(world, step, fault), {
            encoding: 'utf8',
            timeout: 20_000,
          });
          hit = signal === 'SIGKILL' || Number(/calls (\d+)/.exec(stdout)?.[1]) >= step;
          expect(hit || stdout.includes('calls'), `step ${step}: ${stderr}`).toBe(true);
          world.clock.set('2026-12-01T12:00:40Z');
          await world.fire();
          await world.fire();
          await expectFiredOnce(world, `step ${step}`);
          steps = step;
        } finally {
          world.stop();
        }
      }
      expect(steps).toBeGreaterThan(25);
    },
    120_000,
  );

  it('R10: ten processes that look at once start one run', async () => {
    const world = scheduleWorld();
    try {
      await world.add();
      const processes = Array.from({ length: 10 }, () =>
        spawn(process.execPath, argumentsOf(world, 0, 'kill'), { stdio: ['ignore', 'ignore', 'inherit'] }),
      );
      for (const [code] of await Promise.all(processes.map((child) => once(child, 'exit'))))
        expect(code).toBe(0);
      world.clock.set('2026-12-01T12:00:40Z');
      await expectFiredOnce(world, 'ten');
    } finally {
      world.stop();
    }
  }, 60_000);
});
