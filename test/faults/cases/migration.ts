import { chownSync, cpSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { expectThat } from '../commands.ts';
import type { FaultCase } from '../fault-case.ts';
import type { FaultPlan } from '../history/broken-fs.ts';
import { look } from '../history/census.ts';
import { resultOf, runJob, runWhole, startChild } from '../history/child.ts';
import type { Job } from '../history/driver.ts';
import type { Scene } from '../history/scene.ts';
import type { HistoryWorld } from '../history/world.ts';
import type { Random } from '../random.ts';
import { expectSaid } from './prune-disk.ts';
import { jobOf } from './prune-killed.ts';

/** The history of a scene as it lay before domains had their own; the scene's sessions directory is the domain's, empty. */
export function asOldHistory(
  world: HistoryWorld,
  random: Random,
): { scene: Scene; work: Job['work']; old: string } {
  const scene = world.scene(random, { foreign: false, damage: { torn: 0.1, headless: 0, empty: 0 } });
  const sharedRoot = join(scene.directory, 'shared');
  const old = join(sharedRoot, '.pi/agent/sessions');
  mkdirSync(join(sharedRoot, '.pi/agent'), { recursive: true });
  renameSync(scene.sessions, old);
  mkdirSync(scene.sessions, { mode: 0o700 });
  if (process.getuid?.() === 0) chownSync(scene.sessions, 1000, 1000);
  scene.promises.logged = false;
  return { scene, work: { verb: 'migrate', sharedRoot }, old };
}

/** After a whole run nothing is left where it was, so that what the checker finds in the domain is all there is. */
export async function finish(scene: Scene, work: Job['work'], old: string): Promise<void> {
  const { result } = await runWhole(jobOf(scene, work));
  expectThat(JSON.stringify(result).includes('"failed":0'), `not all was moved: ${JSON.stringify(result)}`);
  const left = look(old).filter(
    ({ kind, path }) => kind === 'file' && path.endsWith('.jsonl') && !path.startsWith('.'),
  );
  expectThat(left.length === 0, `still in the old place: ${left.map(({ path }) => path).join(', ')}`);
}

/** How many calls that change something it makes, found out on a copy. */
async function callsOf(scene: Scene): Promise<number> {
  const copy = join(scene.directory, 'copy');
  const options = { recursive: true, preserveTimestamps: true, verbatimSymlinks: true };
  cpSync(join(scene.directory, 'shared'), join(copy, 'shared'), options);
  mkdirSync(join(copy, 'sessions'), { mode: 0o700 });
  const job = jobOf(
    { ...scene, sessions: join(copy, 'sessions') },
    { verb: 'migrate', sharedRoot: join(copy, 'shared') },
  );
  const { calls } = await runWhole({ ...job, plan: { at: 0, of: 'changes', fault: 'kill' } });
  return Math.max(1, calls);
}

export const migrationKilled: FaultCase<HistoryWorld> = {
  name: 'migration-killed',
  about:
    'SIGKILL of the migration of old history at a random point, then the next one: each Session once, as it was',
  tries: { usual: 500, few: 4 },
  async attempt(world, random, note) {
    const { scene, work, old } = asOldHistory(world, random);
    const calls = await callsOf(scene);
    const fault = random.pick(['kill', 'kill-after', 'kill-torn']);
    const plan: FaultPlan = { at: 1 + random.below(calls), of: 'changes', fault };
    note(`${fault} at change ${plan.at} of ${calls}`);
    const job = { ...jobOf(scene, work), plan };
    const { end, said } = await resultOf(world.keep(startChild('driver', [JSON.stringify(job)])));
    expectThat(end === 'SIGKILL' || end === 0, `ended with ${end} instead: ${said}`);
    await finish(scene, work, old);
  },
};

export const migrationFailingCalls: FaultCase<HistoryWorld> = {
  name: 'migration-io-errors',
  about:
    'one call to the file system fails during the migration (EIO, ENOSPC, EACCES): said in words, and the next one finishes',
  tries: { usual: 300, few: 4 },
  async attempt(world, random, note) {
    const { scene, work, old } = asOldHistory(world, random);
    const of = random.pick(['changes', 'all']);
    const plan: FaultPlan = {
      at: 1 + random.below(of === 'changes' ? 150 : 500),
      of,
      fault: random.pick(['EIO', 'ENOSPC', 'EACCES']),
    };
    note(`${plan.fault} at call ${plan.at} of ${plan.of}`);
    const first = await runJob({ ...jobOf(scene, work), plan });
    expectSaid(first);
    await finish(scene, work, old);
  },
};

export const migrationRaces: FaultCase<HistoryWorld> = {
  name: 'migration-races',
  about: 'several first starts migrate at once, one of them killed: each Session is moved once',
  tries: { usual: 100, few: 2 },
  async attempt(world, random, note) {
    const { scene, work, old } = asOldHistory(world, random);
    const job = jobOf(scene, work);
    const victim: Job = { ...job, plan: { at: 1 + random.below(120), of: 'changes', fault: 'kill' } };
    const jobs = [job, job, job, victim];
    note('three and one that is killed');
    const ends = await Promise.all(
      jobs.map((each) => resultOf(world.keep(startChild('driver', [JSON.stringify(each)])))),
    );
    for (const { end, said } of ends)
      expectThat(end === 0 || end === 'SIGKILL', `ended with ${end}: ${said}`);
    await finish(scene, work, old);
  },
};
