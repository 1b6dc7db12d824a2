import { expectThat } from '../commands.ts';
import type { FaultCase } from '../fault-case.ts';
import { look, placeOf } from '../history/census.ts';
import { runWhole } from '../history/child.ts';
import { DAY_MS, isExpired, NOW } from '../history/scene.ts';
import type { HistoryWorld } from '../history/world.ts';
import { jobOf } from './prune-killed.ts';

const DAYS = 30;
const TRASH_DAYS = 7;
const JUMP_DAYS = 1;

export const pruneClock: FaultCase<HistoryWorld> = {
  name: 'prune-clock',
  about:
    'a clock that jumps by a day either way between prunes: nothing goes more than a day early, all of it in the end',
  tries: { usual: 60, few: 2 },
  async attempt(world, random, note) {
    const scene = world.scene(random, { sessions: 40, misdated: 0.2 });
    const work = { verb: 'prune', retention: { days: DAYS, trashDays: TRASH_DAYS } } as const;
    /** By file name, the true day on which it was first seen in the trash. */
    const trashed = new Map<string, number>();
    scene.promises.mayBeGone = new Set(scene.known.keys());
    for (let day = 0, round = 0; round < 8; round++, day += random.fraction() * 3) {
      const clock = new Date(NOW.getTime() + (day + random.pick([-JUMP_DAYS, 0, JUMP_DAYS])) * DAY_MS);
      note(clock.toISOString());
      const before = placesOf(scene.sessions);
      await runWhole(jobOf(scene, work, clock));
      const after = placesOf(scene.sessions);
      for (const [name, session] of scene.known) {
        const [was, is] = [before.get(name), after.get(name)];
        if (was === 'present' && is === 'trashed') {
          trashed.set(name, day);
          const early = isExpired(session, new Date(NOW.getTime() + (day + JUMP_DAYS) * DAY_MS), DAYS);
          expectThat(early !== false, `${name} was trashed more than a day early`);
        }
        expectThat(was === undefined || was !== 'present' || is !== undefined, `${name} went past the trash`);
        const since = trashed.get(name);
        if (was === 'trashed' && is === undefined)
          expectThat(
            since !== undefined && day - since >= TRASH_DAYS - 2 * JUMP_DAYS,
            `${name} left the trash after ${day - (since ?? 0)} days`,
          );
      }
    }
    const end = new Date(NOW.getTime() + 500 * DAY_MS);
    await runWhole(jobOf(scene, work, end));
    await runWhole(jobOf(scene, work, new Date(end.getTime() + (TRASH_DAYS + 2) * DAY_MS)));
    const left = [...placesOf(scene.sessions)].filter(([name]) => scene.known.get(name)?.kind === 'whole');
    expectThat(left.length === 0, `in the end these are left: ${left.map(([name]) => name).join(', ')}`);
  },
};

function placesOf(sessions: string): Map<string, 'present' | 'trashed'> {
  return new Map(
    look(sessions).flatMap(({ path }) => {
      const place = placeOf(path);
      return place === undefined ? [] : [[place.name, place.place] as const];
    }),
  );
}
