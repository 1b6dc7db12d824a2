import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  addSchedule,
  hasSchedule,
  parseScheduleId,
  removeSchedule,
  runScheduler,
  schedulesDirectory,
  watchSchedules,
} from '../../../../src/runs/index.ts';
import { newSchedule, type ScheduleWorld, scheduleWorld } from '../../../setup/schedule-world.ts';

const MINUTE = 60_000;
const LIMIT = { timeout: 10_000, interval: 20 };

let world: ScheduleWorld;
let stop: AbortController;
let watching: Promise<void>[];
let looks: number;

beforeEach(() => {
  world = scheduleWorld('2026-12-01T11:00:00Z');
  stop = new AbortController();
  watching = [];
  looks = 0;
});
afterEach(async () => {
  stop.abort();
  await Promise.all(watching);
  world.stop();
});

function watchIt(): Promise<void> {
  const onReport = (): void => {
    looks++;
  };
  const watched = watchSchedules(world.place, {
    ...world.options,
    project: world.project,
    signal: stop.signal,
    onReport,
  });
  watching.push(watched);
  return watched;
}

/** Until whoever watches sleeps again, `by` further on. */
async function pass(by: number): Promise<void> {
  for (let left = by; left > 0; left -= 30_000) {
    await vi.waitFor(() => expect(world.clock.sleepers).toBeGreaterThan(0), LIMIT);
    world.clock.pass(Math.min(left, 30_000));
  }
}

function started(count: number): Promise<void> {
  return vi.waitFor(() => expect(world.owned).toHaveLength(count), LIMIT);
}

describe('watching schedules (R10)', () => {
  it('R10: sleeps until the next instant, without a look in between', async () => {
    await world.add();
    void watchIt();
    await pass(59 * MINUTE);
    await vi.waitFor(() => expect(world.clock.sleepers).toBe(1), LIMIT);
    expect(looks).toBe(1);
    await pass(MINUTE);
    await started(1);
  });

  it('R10: takes up what is added meanwhile', async () => {
    await world.add();
    void watchIt();
    await vi.waitFor(() => expect(looks).toBe(1), LIMIT);
    await world.add({ id: 'soon', cron: '5 11 * * *' });
    await vi.waitFor(() => {
      // Changes are let come to rest for a moment of the clock.
      world.clock.pass(200);
      expect(looks).toBe(2);
    }, LIMIT);
    await pass(5 * MINUTE);
    await started(1);
    expect(world.owned[0]?.manifest.schedule).toBe('soon');
  });

  it('R10: sees within half a minute that the wall clock was set, or that the machine has slept', async () => {
    await world.add();
    void watchIt();
    await vi.waitFor(() => expect(world.clock.sleepers).toBe(1), LIMIT);
    world.clock.set('2026-12-01T12:00:10Z');
    await pass(30_000);
    await started(1);
  });

  it('R10: starts what waits as soon as the run before has ended', async () => {
    await world.add({ cron: '0,10 12 * * *', overlap: 'queue' });
    void watchIt();
    await pass(60 * MINUTE);
    await started(1);
    await pass(11 * MINUTE);
    await vi.waitFor(async () => expect((await world.schedule()).queued).not.toBe(null), LIMIT);
    const [first] = world.owned;
    if (first) await world.end(first);
    await pass(30_000);
    await started(2);
  });

  it('R10: ends when the project has no schedule any more', async () => {
    await world.add();
    const watched = watchIt();
    await vi.waitFor(() => expect(world.clock.sleepers).toBe(1), LIMIT);
    await removeSchedule(world.place, parseScheduleId('noon'));
    await vi.waitFor(() => {
      world.clock.pass(200);
      expect(looks).toBe(2);
    }, LIMIT);
    await watched;
  });

  it('R10: ten watchers start one run', async () => {
    await world.add();
    for (let watcher = 0; watcher < 10; watcher++) void watchIt();
    await vi.waitFor(() => expect(world.clock.sleepers).toBe(10), LIMIT);
    world.clock.set('2026-12-01T12:00:10Z');
    world.clock.pass(30_000);
    await started(1);
    await vi.waitFor(() => {
      world.clock.pass(200);
      expect(looks).toBeGreaterThanOrEqual(20);
    }, LIMIT);
    expect(world.owned).toHaveLength(1);
  });

  it('R10: one process of a machine watches a project, and what another finds it ends', async () => {
    await world.add();
    const options = {
      ...world.options,
      project: world.project,
      env: { XDG_RUNTIME_DIR: join(world.project, 'run') },
      signal: stop.signal,
    };
    watching.push(runScheduler(world.place, options));
    await vi.waitFor(() => expect(world.clock.sleepers).toBe(1), LIMIT);
    await runScheduler(world.place, options);
    expect(world.clock.sleepers).toBe(1);
  });
});

describe('keeping schedules (R10)', () => {
  it('R10: a name is one schedule’s', async () => {
    await world.add();
    await expect(world.add()).rejects.toThrow('there is a schedule noon already');
  });

  it('R10: of several that are added at once none is lost, and the hundred and first is refused', async () => {
    await world.add();
    const directory = schedulesDirectory(world.place);
    for (let index = 0; index < 96; index++) writeFileSync(join(directory, `other-${index}.json`), '{}');
    const adding = Array.from({ length: 6 }, (_, index) => world.add({ id: `s-${index}` }));
    const refused = (await Promise.allSettled(adding)).filter(({ status }) => status === 'rejected');
    expect(refused).toMatchObject(Array(3).fill({ reason: { code: 'limit' } }));
    expect(readdirSync(directory).filter((name) => name.endsWith('.json'))).toHaveLength(100);
  });

  it('R10: without a name it is called like a run', async () => {
    const { name: _name, ...unnamed } = newSchedule(world.project, 'x');
    const { scheduleId } = await addSchedule(world.place, unnamed, world.options);
    expect(scheduleId).toMatch(/^20261201t110000-[a-z2-7]{6}$/);
  });

  it('R10: what a newer version has written is left alone', async () => {
    await world.add();
    const path = join(schedulesDirectory(world.place), 'new.json');
    writeFileSync(path, '{"schemaVersion":2}');
    const { schedules, problems } = await world.fire();
    expect([schedules, problems]).toEqual([1, []]);
    await expect(removeSchedule(world.place, parseScheduleId('new'))).rejects.toThrow('version 2');
  });

  it('R10: what is damaged keeps nobody from the others, and can be removed', async () => {
    await world.add();
    writeFileSync(join(schedulesDirectory(world.place), 'bad.json'), '{"schemaVersion":1,');
    world.clock.set('2026-12-01T12:00:00Z');
    await world.fire();
    await started(1);
    await removeSchedule(world.place, parseScheduleId('bad'));
  });

  it('R10: removed is removed, with its history', async () => {
    await world.add();
    world.clock.set('2026-12-01T12:00:00Z');
    await world.fire();
    await removeSchedule(world.place, parseScheduleId('noon'));
    expect(await hasSchedule(world.place, world.project)).toBe(false);
    await expect(removeSchedule(world.place, parseScheduleId('noon'))).rejects.toThrow('no schedule noon');
    expect(readdirSync(schedulesDirectory(world.place))).toEqual(['.lock']);
  });
});
