import { cpSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentDirJob } from '../agent-dir/driver.ts';
import {
  BUDGET,
  fact,
  filesOf,
  judgeMemory,
  type MemoryScene,
  makeMemoryScene,
} from '../agent-dir/memory-scene.ts';
import type { AgentDirWorld } from '../agent-dir/world.ts';
import { expectThat } from '../commands.ts';
import type { FaultCase } from '../fault-case.ts';
import type { FaultPlan } from '../history/broken-fs.ts';
import { type Result, resultOf, startChild } from '../history/child.ts';
import type { Random } from '../random.ts';

type Edit = Exclude<AgentDirJob['work'], { verb: 'migrate' }>;

/** About as many calls as an edit of the largest profile makes. */
const CHANGES = 70;

async function run(world: AgentDirWorld, agentDir: string, work: Edit, plan?: FaultPlan): Promise<Result> {
  const job: AgentDirJob = { agentDir, work, ...(plan === undefined ? {} : { plan }) };
  return resultOf(world.keep(startChild('agent-dir', [JSON.stringify(job)])));
}

/** An edit, and the facts after it. */
function chooseEdit({ facts }: MemoryScene, random: Random): { work: Edit; after: string[] } {
  const at = random.below(facts.length);
  const old = facts[at] ?? '';
  const text = fact('new', random.below(200));
  switch (random.pick(['add', 'replace', 'remove'])) {
    case 'add':
      return { work: { verb: 'add', text, budget: BUDGET }, after: [...facts, text] };
    case 'replace':
      return { work: { verb: 'replace', old, text, budget: BUDGET }, after: facts.with(at, text) };
    case 'remove':
      return { work: { verb: 'remove', text: old, budget: BUDGET }, after: facts.toSpliced(at, 1) };
  }
}

/** The same edit, undisturbed, on a copy: what the files must be in the end. */
async function control(world: AgentDirWorld, made: MemoryScene, work: Edit): Promise<Record<string, string>> {
  const copy = join(made.domain, '../control');
  cpSync(made.domain, copy, { recursive: true });
  const { end, said } = await run(world, copy, work);
  expectThat(end === 0, `undisturbed it ended with ${end}: ${said}`);
  return filesOf(copy);
}

async function disturbed(
  world: AgentDirWorld,
  random: Random,
  note: (text: string) => void,
  faults: FaultPlan,
) {
  const made = makeMemoryScene(world, random);
  const { work, after } = chooseEdit(made, random);
  // Half of them begin in shards, which another edit made before.
  if (random.fraction() < 0.5)
    await run(world, made.agentDirs[0], { verb: 'add', text: 'first', budget: BUDGET });
  const facts = filesOf(made.domain);
  const begun = Object.values(facts).some((text) => text.includes('- first\n')) ? ['first'] : [];
  const expected = await control(world, made, work);
  note(`${work.verb} with ${made.facts.length} facts, ${faults.fault} at change ${faults.at}`);
  world.inspect(() => judgeMemory(made.domain, [...after, ...begun]));
  const first = await run(world, made.agentDirs[0], work, faults);
  expectThat([0, 1, 'SIGKILL'].includes(first.end), `ended with ${first.end}: ${first.said}`);
  // From the other sandbox of the domain. What was done before the fault can be gone from where it was looked for.
  const again = await run(world, made.agentDirs[1], work);
  const done = again.failure?.name === 'NotInProfileError' && work.verb === 'remove';
  expectThat(again.end === 0 || done, `the next run ended with ${again.end}: ${again.said}`);
  const found = filesOf(made.domain);
  expectThat(
    JSON.stringify(found) === JSON.stringify(expected),
    `the files are not those of an undisturbed edit: ${Object.keys(found)} / ${Object.keys(expected)}`,
  );
}

export const memoryKilled: FaultCase<AgentDirWorld> = {
  name: 'memory-killed',
  about:
    'SIGKILL of an edit of the profile at a random point, then the same edit from another sandbox: the same files',
  tries: { usual: 300, few: 4 },
  async attempt(world, random, note) {
    const fault = random.pick(['kill', 'kill-after', 'kill-torn']);
    await disturbed(world, random, note, { at: 1 + random.below(CHANGES), of: 'changes', fault });
  },
};

export const memoryFailingCalls: FaultCase<AgentDirWorld> = {
  name: 'memory-io-errors',
  about:
    'one call to the file system fails during an edit of the profile: the same edit then gives the same files',
  tries: { usual: 200, few: 3 },
  async attempt(world, random, note) {
    const fault = random.pick(['EIO', 'ENOSPC', 'EACCES']);
    const of = random.pick(['changes', 'all']);
    await disturbed(world, random, note, { at: 1 + random.below(of === 'all' ? 300 : CHANGES), of, fault });
  },
};

export const memoryRaces: FaultCase<AgentDirWorld> = {
  name: 'memory-races',
  about:
    'edits of one profile from two sandboxes at once, one of them killed: all that were told of success are there once',
  tries: { usual: 60, few: 2 },
  async attempt(world, random, note) {
    const made = makeMemoryScene(world, random);
    const [one, other] = made.agentDirs;
    const texts = Array.from({ length: 4 }, (_, n) => fact(`new${n}`, random.below(200)));
    const plan: FaultPlan = { at: 1 + random.below(CHANGES), of: 'changes', fault: 'kill' };
    note(`${made.facts.length} facts, one is killed at change ${plan.at}`);
    const victim = fact('victim', 50);
    world.inspect(() => judgeMemory(made.domain, [...made.facts, ...texts], [victim]));
    const ends = await Promise.all([
      ...texts.map((text, n) => run(world, n % 2 === 0 ? one : other, { verb: 'add', text, budget: BUDGET })),
      run(world, other, { verb: 'add', text: victim, budget: BUDGET }, plan),
    ]);
    for (const { end, said } of ends)
      expectThat(end === 0 || end === 'SIGKILL', `ended with ${end}: ${said}`);
    // Ends what the killed one may have begun.
    const last = await run(world, one, { verb: 'add', text: texts[0] ?? '', budget: BUDGET });
    expectThat(last.end === 0, `the next run ended with ${last.end}: ${last.said}`);
  },
};
