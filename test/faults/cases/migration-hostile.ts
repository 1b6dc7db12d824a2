import { readdirSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expectThat } from '../commands.ts';
import type { FaultCase } from '../fault-case.ts';
import { look } from '../history/census.ts';
import { runJob, startChild } from '../history/child.ts';
import type { HistoryWorld } from '../history/world.ts';
import { asOldHistory, finish } from './migration.ts';
import { expectPlain, putBack } from './prune-hostile.ts';
import { jobOf } from './prune-killed.ts';

const TARGETS: readonly [string, ...string[]] = [
  '.',
  'sessions',
  'sessions/--home-me-old--',
  '.trash/2020-01-01',
];

/** The old history is out of every sandbox's reach; where it goes is not. */
export const migrationSwaps: FaultCase<HistoryWorld> = {
  name: 'migration-swaps',
  about:
    'folders of the domain swapped for links out of it, again and again, while old history is moved into them',
  tries: { usual: 60, few: 1 },
  async attempt(world, random, note) {
    const { scene, work, old } = asOldHistory(world, random);
    const folders = readdirSync(old, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const target = join(scene.outside, random.pick(TARGETS));
    const places = folders.map(({ name }) => join(scene.sessions, name));
    const swapper = world.keep(startChild('swapper', [target, ...places]));
    await swapper.ready;
    for (let run = 1; run <= 3; run++) {
      const { end, failure, said } = await runJob(jobOf(scene, work));
      expectThat(end === 0 || failure !== undefined, `run ${run} ended with ${end}: ${said}`);
      expectPlain(said, failure?.name);
    }
    swapper.process.stdin?.end();
    const { end, stderr } = await swapper.ended;
    expectThat(end === 0, `the swapper failed: ${stderr}`);
    putBack(scene);
    note(`${look(old).filter(({ kind }) => kind === 'file').length} files were left for the last run`);
    await finish(scene, work, old);
    putBack(scene);
  },
};

/** What a session plants beforehand, where the migration is about to make folders and its own files. */
export const migrationLinks: FaultCase<HistoryWorld> = {
  name: 'migration-links',
  about:
    'links out of the domain planted where old history goes: nothing outside is touched, nothing is lost',
  tries: { usual: 60, few: 2 },
  async attempt(world, random, note) {
    const { scene, work, old } = asOldHistory(world, random);
    const folders = readdirSync(old, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const planted = [...folders.map(({ name }) => name), '.pi-sandbox-legacy.json', '.trash'].filter(
      () => random.below(2) === 0,
    );
    for (const name of planted)
      symlinkSync(join(scene.outside, random.pick(TARGETS)), join(scene.sessions, name));
    note(`${planted.length} links`);
    const { end, failure, said } = await runJob(jobOf(scene, work));
    expectThat(end === 0 || failure !== undefined, `it ended with ${end}: ${said}`);
    expectPlain(said, failure?.name);
    for (const name of planted) {
      const link = look(scene.sessions).find(({ path }) => path === name);
      if (link?.kind === 'link') unlinkSync(join(scene.sessions, name));
    }
    await finish(scene, work, old);
  },
};
