import { expectThat } from '../commands.ts';
import type { FaultCase } from '../fault-case.ts';
import { type Child, resultOf, runWhole, startChild } from '../history/child.ts';
import type { Job } from '../history/driver.ts';
import { isExpired, NOW, nameOf } from '../history/scene.ts';
import type { HistoryWorld } from '../history/world.ts';
import { jobOf, prunedBefore } from './prune-killed.ts';

export const pruneRaces: FaultCase<HistoryWorld> = {
  name: 'prune-races',
  about: 'several prunes, restores and listings at once: each works or says that another is at it',
  tries: { usual: 40, few: 2 },
  async attempt(world, random, note, { crowd }) {
    const { scene, work } = await prunedBefore(world, random, note);
    const retention = { days: 7, trashDays: 30 };
    scene.promises.times = false;
    const works: Job['work'][] = [
      work,
      work,
      { verb: 'restore-all', retention },
      { verb: 'list', retention },
    ];
    const children = Array.from({ length: Math.min(crowd, 6) }, (_, index) => {
      const job = jobOf(scene, index < 2 ? work : random.pick([work, ...works]));
      return world.keep(startChild('driver', [JSON.stringify(job)]));
    });
    for (const child of children) {
      const { end, failure, said } = await resultOf(child);
      expectThat(end === 0 || failure?.name === 'HistoryBusyError', `one ended with ${end}: ${said}`);
    }
    await runWhole(jobOf(scene, work));
  },
};

export const pruneWriters: FaultCase<HistoryWorld> = {
  name: 'prune-writers',
  about:
    'prunes while others hold old Sessions open and append to them: no entry is lost, with and without trash',
  tries: { usual: 40, few: 2 },
  async attempt(world, random, note) {
    const days = 7;
    const trashDays = random.pick([0, 7]);
    note(`trash ${trashDays}`);
    const scene = world.scene(random, { sessions: 40 });
    const expired = [...scene.known.values()].filter((one) => isExpired(one, NOW, days) === true);
    const open = expired.slice(0, 3);
    const writers = open.map(({ path, id }) => ({
      name: nameOf(path),
      child: world.keep(startChild('writer', [scene.locks, `${scene.sessions}/${path}`, id])),
    }));
    for (const { child } of writers) await child.ready;
    const openNames = new Set(writers.map(({ name }) => name));
    scene.promises.mayBeGone = new Set(
      trashDays > 0 ? [] : [...scene.known.keys()].filter((name) => !openNames.has(name)),
    );
    const prune = jobOf(scene, { verb: 'prune', retention: { days, trashDays } });
    for (let round = 0; round < 4; round++) await runWhole(prune);
    for (const { name, child } of writers) scene.promises.appended.set(name, await wordsOf(child));
  },
};

async function wordsOf(child: Child): Promise<string[]> {
  child.process.stdin?.end();
  const { end, lines, stderr } = await child.ended;
  expectThat(end === 0, `a writer failed with ${end}: ${stderr}`);
  return lines.slice(1);
}
