import { cpSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expectThat } from '../commands.ts';
import type { FaultCase } from '../fault-case.ts';
import type { FaultPlan } from '../history/broken-fs.ts';
import { resultOf, runJob, runWhole, startChild } from '../history/child.ts';
import type { Job } from '../history/driver.ts';
import { DAY_MS, isExpired, NOW, nameOf, type Scene } from '../history/scene.ts';
import type { HistoryWorld } from '../history/world.ts';
import type { Random } from '../random.ts';

type Note = (text: string) => void;
/** A prune of a small history takes about so long. */
const SPAN_MS = 60;

export function jobOf(scene: Scene, work: Job['work'], now: Date = NOW): Job {
  return { sessions: scene.sessions, locks: scene.locks, now: now.toISOString(), work };
}

/**
 * A scene that an earlier prune has been at: some Sessions are in the trash for ten days, so that the next prune
 * empties it as well. What may then be gone for good is written into the promises.
 */
export async function prunedBefore(
  world: HistoryWorld,
  random: Random,
  note: Note,
  into?: string,
): Promise<{ scene: Scene; work: Job['work'] }> {
  const scene = world.scene(random, into === undefined ? {} : { into });
  const days = random.pick([7, 30]);
  const trashDays = random.pick([7, 7, 30, 0]);
  const earlier = new Date(NOW.getTime() - 10 * DAY_MS);
  note(`${days} days, trash ${trashDays}`);
  await runWhole(jobOf(scene, { verb: 'prune', retention: { days, trashDays: 30 } }, earlier));
  const gone = [...scene.known.values()].filter((one) => {
    const before = isExpired(one, earlier, days) !== false && trashDays === 7;
    return before || (trashDays === 0 && isExpired(one, NOW, days) !== false);
  });
  // Those are in the trash already, whatever a later clock says of them.
  scene.promises.mayBeGone = new Set(gone.map(({ path }) => nameOf(path)));
  return { scene, work: { verb: 'prune', retention: { days, trashDays } } };
}

/** Kills the job at a random point: at a call to the file system, before, after or within it, or at some moment. */
async function killSomewhere(
  world: HistoryWorld,
  job: Job,
  random: Random,
  calls: number,
  note: Note,
): Promise<void> {
  if (random.below(4) === 0) {
    const child = world.keep(startChild('driver', [JSON.stringify(job)]));
    await child.ready;
    const wait = random.fraction() * SPAN_MS;
    note(`killed after ${wait.toFixed(1)} ms`);
    await sleep(wait);
    child.process.kill('SIGKILL');
    await child.ended;
    return;
  }
  const fault = random.pick(['kill', 'kill-after', 'kill-torn']);
  const plan: FaultPlan = { at: 1 + random.below(calls), of: 'changes', fault };
  note(`${fault} at change ${plan.at} of ${calls}`);
  const { end, said } = await resultOf(world.keep(startChild('driver', [JSON.stringify({ ...job, plan })])));
  // Fewer calls than expected: then it has simply worked.
  expectThat(end === 'SIGKILL' || end === 0, `ended with ${end} instead: ${said}`);
}

/** How many calls that change something the job makes, found out on a copy. */
async function callsOf(scene: Scene, work: Job['work']): Promise<number> {
  const copy = { ...scene, sessions: `${scene.sessions}.copy`, locks: `${scene.locks}.copy` };
  const options = { recursive: true, preserveTimestamps: true, verbatimSymlinks: true };
  cpSync(scene.sessions, copy.sessions, options);
  cpSync(scene.locks, copy.locks, options);
  const plan: FaultPlan = { at: 0, of: 'changes', fault: 'kill' };
  const { calls } = await runWhole({ ...jobOf(copy, work), plan });
  return Math.max(1, calls);
}

export const pruneKilled: FaultCase<HistoryWorld> = {
  name: 'prune-killed',
  about:
    'SIGKILL of a prune at a random point, then the next one: each Session once, each deletion in the log',
  tries: { usual: 500, few: 4 },
  async attempt(world, random, note) {
    const { scene, work } = await prunedBefore(world, random, note);
    await killSomewhere(world, jobOf(scene, work), random, await callsOf(scene, work), note);
    await runWhole(jobOf(scene, work));
    if (work.verb === 'prune') scene.promises.settled = { now: NOW, days: work.retention.days };
  },
};

export const restoreKilled: FaultCase<HistoryWorld> = {
  name: 'trash-restore-killed',
  about:
    'SIGKILL while Sessions come back from the trash, then the rest of it: each Session once, none replaced',
  tries: { usual: 500, few: 4 },
  async attempt(world, random, note) {
    const scene = world.scene(random);
    const retention = { days: 7, trashDays: 7 };
    await runWhole(jobOf(scene, { verb: 'prune', retention }));
    scene.promises.times = false;
    const restore = jobOf(scene, { verb: 'restore-all', retention });
    await killSomewhere(world, restore, random, await callsOf(scene, restore.work), note);
    const { result } = await runWhole(restore);
    expectThat(
      JSON.stringify(result).includes('"failed":[]'),
      `not all came back: ${JSON.stringify(result)}`,
    );
    const { end, said } = await runJob(jobOf(scene, { verb: 'list', retention }));
    expectThat(end === 0, `then the listing fails: ${said}`);
    scene.promises.settled = { now: NOW, days: 0 };
  },
};
