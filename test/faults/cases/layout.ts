import type { AgentDirJob } from '../agent-dir/driver.ts';
import { type LayoutScene, makeLayoutScene } from '../agent-dir/layout-scene.ts';
import type { AgentDirWorld } from '../agent-dir/world.ts';
import { expectThat } from '../commands.ts';
import type { FaultCase } from '../fault-case.ts';
import type { FaultPlan } from '../history/broken-fs.ts';
import { type Result, resultOf, startChild } from '../history/child.ts';
import type { Random } from '../random.ts';

/** About as many calls as the largest scene makes; a point past the end of a smaller one tries an undisturbed run. */
const CHANGES = 90;

function scene(world: AgentDirWorld, random: Random): LayoutScene {
  const made = makeLayoutScene(world, random);
  world.inspect(() => made.check());
  return made;
}

async function migrate(world: AgentDirWorld, { agentDir }: LayoutScene, plan?: FaultPlan): Promise<Result> {
  const job: AgentDirJob = {
    agentDir,
    work: { verb: 'migrate', waitMs: 20_000 },
    ...(plan === undefined ? {} : { plan }),
  };
  return resultOf(world.keep(startChild('agent-dir', [JSON.stringify(job)])));
}

/** The next run must work and leave nothing to do for the one after it. */
async function finish(world: AgentDirWorld, made: LayoutScene): Promise<void> {
  for (const run of ['next', 'last']) {
    const { end, said } = await migrate(world, made);
    expectThat(end === 0, `the ${run} run ended with ${end}: ${said}`);
  }
}

export const layoutKilled: FaultCase<AgentDirWorld> = {
  name: 'layout-killed',
  about:
    'SIGKILL of the migration of a layout at a random point, then the next one: nothing lost, nothing twice',
  tries: { usual: 300, few: 4 },
  async attempt(world, random, note) {
    const made = scene(world, random);
    const fault = random.pick(['kill', 'kill-after', 'kill-torn']);
    const plan: FaultPlan = { at: 1 + random.below(CHANGES), of: 'changes', fault };
    note(`${fault} at change ${plan.at}, ${made.twoDisks ? 'two disks' : 'one disk'}`);
    const { end, said } = await migrate(world, made, plan);
    expectThat(end === 'SIGKILL' || end === 0, `ended with ${end} instead: ${said}`);
    await finish(world, made);
  },
};

export const layoutFailingCalls: FaultCase<AgentDirWorld> = {
  name: 'layout-io-errors',
  about: 'one call to the file system fails during the migration of a layout: the next one finishes it',
  tries: { usual: 200, few: 3 },
  async attempt(world, random, note) {
    const made = scene(world, random);
    const of = random.pick(['changes', 'all']);
    const at = 1 + random.below(of === 'changes' ? CHANGES : 400);
    const plan: FaultPlan = { at, of, fault: random.pick(['EIO', 'ENOSPC', 'EACCES']) };
    note(`${plan.fault} at call ${at} of ${of}, ${made.twoDisks ? 'two disks' : 'one disk'}`);
    const { end, said } = await migrate(world, made, plan);
    expectThat(end === 0 || end === 1, `ended with ${end} instead: ${said}`);
    await finish(world, made);
  },
};

export const layoutRaces: FaultCase<AgentDirWorld> = {
  name: 'layout-races',
  about: 'three migrations of one directory at once, one of them killed: each entry is moved once',
  tries: { usual: 60, few: 2 },
  async attempt(world, random, note) {
    const made = scene(world, random);
    const plan: FaultPlan = { at: 1 + random.below(CHANGES), of: 'changes', fault: 'kill' };
    note(`one is killed at change ${plan.at}`);
    const ends = await Promise.all([migrate(world, made), migrate(world, made), migrate(world, made, plan)]);
    for (const { end, said } of ends)
      expectThat(end === 0 || end === 'SIGKILL', `ended with ${end}: ${said}`);
    await finish(world, made);
  },
};
