import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OperationError } from '../../../../src/lib/errors.ts';
import { isHeld } from '../../../../src/lib/kernel-lock.ts';
import { fireDue, isRunId, readHistory, readManifest, runLock } from '../../../../src/runs/index.ts';
import { type ScheduleWorld, scheduleWorld } from '../../../setup/schedule-world.ts';

let world: ScheduleWorld;
beforeEach(() => {
  world = scheduleWorld();
});
afterEach(() => world.stop());

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

function runs(): string[] {
  return readdirSync(world.place.root).filter(isRunId);
}

async function history(): Promise<string[]> {
  const { scheduleId } = await world.schedule();
  return (await readHistory(world.place, scheduleId)).map(
    ({ what, instant }) => `${what} ${instant.slice(5, 16)}`,
  );
}

describe('firing schedules (R10)', () => {
  it('R10: starts a run when an instant has come, and not before', async () => {
    await world.add();
    expect((await world.fire()).firings).toEqual([]);
    world.clock.pass(MINUTE + 1_000);
    const { firings, next } = await world.fire();
    expect(firings).toMatchObject([
      { schedule: 'noon', what: 'started', instant: new Date('2026-12-01T12:00:00Z') },
    ]);
    expect(next).toEqual(new Date('2026-12-02T12:00:00Z'));
    const [held] = world.owned;
    expect(held && isHeld(runLock(held.directory))).toBe(true);
    expect(held?.manifest).toMatchObject({
      schedule: 'noon',
      ownerSessionId: null,
      realProject: world.project,
    });
    expect(await world.schedule()).toMatchObject({ planned: null, previousRun: held?.manifest.runId });
  });

  it('R10: an instant is fired once, however often it is looked at', async () => {
    await world.add();
    world.clock.pass(MINUTE);
    for (let look = 0; look < 5; look++) await world.fire();
    world.clock.pass(30_000);
    await world.fire();
    expect(runs()).toHaveLength(1);
  });

  it('R10: ten that look at once start one run', async () => {
    await world.add();
    world.clock.pass(MINUTE);
    await Promise.all(Array.from({ length: 10 }, () => world.fire()));
    expect(runs()).toHaveLength(1);
    expect(await history()).toEqual(['started 12-01T12:00']);
  });

  it('R10: what came while nothing ran is passed over', async () => {
    await world.add();
    world.clock.pass(3 * DAY);
    expect((await world.fire()).firings).toMatchObject([{ what: 'missed' }]);
    expect(runs()).toEqual([]);
    expect(await history()).toEqual(['missed 12-03T12:00']);
  });

  it('R10: with catch-up, the last one of what was missed is made up for, once', async () => {
    await world.add({ catchUp: 'latest' });
    world.clock.pass(3 * DAY);
    await world.fire();
    await world.fire();
    expect(await history()).toEqual(['started 12-03T12:00']);
  });

  it('R10: while the run before goes on, the next one is passed over', async () => {
    await world.add();
    world.clock.pass(MINUTE);
    await world.fire();
    world.clock.pass(DAY);
    await world.fire();
    expect(await history()).toEqual(['started 12-01T12:00', 'skipped 12-02T12:00']);
  });

  it('R10: queued, one waits for the end of the run before, and no second one', async () => {
    await world.add({ overlap: 'queue' });
    world.clock.pass(MINUTE);
    await world.fire();
    for (const _day of [2, 3]) {
      world.clock.pass(DAY);
      await world.fire();
    }
    expect(runs()).toHaveLength(1);
    const [first] = world.owned;
    if (first) await world.end(first);
    await world.fire();
    expect(await history()).toEqual([
      'started 12-01T12:00',
      'queued 12-02T12:00',
      'skipped 12-03T12:00',
      'started 12-02T12:00',
    ]);
    expect(await world.schedule()).toMatchObject({ queued: null, lastStarted: '2026-12-02T12:00:00.000Z' });
  });

  it('R10: a run that nobody executes any more holds nothing up', async () => {
    await world.add();
    world.clock.pass(MINUTE);
    await world.fire();
    world.owned[0]?.lock.release();
    world.clock.pass(DAY);
    await world.fire();
    expect(await history()).toEqual(['started 12-01T12:00', 'started 12-02T12:00']);
  });

  it('R10: a clock that is set back by a day starts nothing again', async () => {
    await world.add({ cron: '*/10 * * * *' });
    world.clock.pass(MINUTE);
    await world.fire();
    const [first] = world.owned;
    if (first) await world.end(first);
    world.clock.set('2026-11-30T12:00:10Z');
    for (let look = 0; look < 144; look++) {
      world.clock.pass(10 * MINUTE);
      await world.fire();
    }
    // 12:00 of the day before its last run: that was before.
    expect(await history()).toEqual(['started 12-01T12:00']);
    world.clock.pass(10 * MINUTE);
    await world.fire();
    expect(await history()).toEqual(['started 12-01T12:00', 'started 12-01T12:10']);
  });

  it('R10: a clock that is set forward by a day starts no storm, and goes on as before when it is set back', async () => {
    await world.add({ cron: '* * * * *', catchUp: 'latest' });
    world.clock.set('2026-12-02T12:00:10Z');
    await world.fire();
    await world.fire();
    expect(runs()).toHaveLength(1);
  });

  it('R10: what was passed over by a clock that was ahead comes when it is due', async () => {
    await world.add();
    world.clock.set('2026-12-04T11:00:00Z');
    await world.fire();
    world.clock.set('2026-12-01T11:59:30Z');
    await world.fire();
    world.clock.pass(MINUTE);
    await world.fire();
    expect(await history()).toEqual(['missed 12-03T12:00', 'started 12-01T12:00']);
  });

  it('R10: a clock that was years ahead does not leave a schedule at rest for years', async () => {
    await world.add({ cron: '* * * * *' });
    world.clock.set('2031-01-01T00:00:10Z');
    await world.fire();
    const [first] = world.owned;
    if (first) await world.end(first);
    world.clock.set('2026-12-01T12:00:00Z');
    await world.fire();
    world.clock.pass(MINUTE);
    await world.fire();
    expect(await history()).toEqual(['started 01-01T00:00', 'started 12-01T12:01']);
  });

  it('R10: a run that could not be handed over is taken up with the next look', async () => {
    await world.add();
    world.clock.pass(MINUTE);
    const failing = { ...world.options, launch: () => Promise.reject(new OperationError('no owner')) };
    for (let look = 0; look < 3; look++) {
      const { problems } = await fireDue(world.place, failing);
      expect(problems).toEqual([{ schedule: 'noon', reason: 'no owner' }]);
    }
    await world.fire();
    expect(runs()).toHaveLength(1);
    expect(world.owned).toHaveLength(1);
    expect(await history()).toEqual(['failed 12-01T12:00', 'started 12-01T12:00']);
  });

  it('R10: only those of the project are fired where one is named', async () => {
    await world.add();
    world.clock.pass(MINUTE);
    const report = await fireDue(world.place, { ...world.options, project: '/elsewhere' });
    expect(report).toMatchObject({ schedules: 0, firings: [], next: undefined });
  });

  it('R10: the manifest has all settings and the graph of the schedule', async () => {
    const added = await world.add();
    world.clock.pass(MINUTE);
    await world.fire();
    const [held] = world.owned;
    const facts = held && (await readManifest(held.directory));
    expect(facts).toMatchObject({
      kind: 'known',
      value: { graph: added.graph, concurrency: added.concurrency },
    });
  });
});
