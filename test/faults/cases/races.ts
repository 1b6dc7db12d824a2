import { allOf, expectPlainWords, expectSuccess, expectThat, type RunningCommand } from '../commands.ts';
import type { FaultCase } from '../fault-case.ts';
import type { Random } from '../random.ts';
import { DOMAINS, type World } from '../world.ts';

/** Half of them shells, half of them real pi; each has to be answered, with its own program's exit code. */
function crowdOf(random: Random, size: number, projects: readonly [string, ...string[]]) {
  return Array.from({ length: size }, (_, index) => {
    const project = random.pick(projects);
    const domain = DOMAINS[index % DOMAINS.length] ?? DOMAINS[0];
    return { project, domain, kind: random.pick(['entry', 'demo', 'code']), code: random.below(120) };
  });
}

async function runAll(world: World, crowd: ReturnType<typeof crowdOf>): Promise<void> {
  await allOf(
    crowd.map(async ({ project, domain, kind, code }) => {
      if (kind === 'entry') return expectSuccess(world.entry(project, { domain }), 'a shell failed');
      if (kind === 'demo') {
        const outcome = await expectSuccess(world.demo(project, { domain }), 'pi failed');
        expectThat(outcome.stdout.trim() !== '', 'pi did not answer', outcome);
        return outcome;
      }
      const started: RunningCommand = world.shell(project, ['sh', '-c', `exit ${code}`], { domain });
      const outcome = await started.outcome;
      expectPlainWords(outcome);
      expectThat(outcome.code === code, `the exit code is not the program's ${code}`, outcome);
      return outcome;
    }),
  );
}

/** How many sandboxes were started since then, and how many are there. */
async function expectSandboxes(world: World, before: number, expected: number): Promise<void> {
  const started = world.events.seen
    .slice(before)
    .filter(({ moment, role }) => moment === 'container start' && role === 'sandbox');
  expectThat(started.length === expected, `${started.length} sandboxes were started, not ${expected}`);
  const there = await world.containers();
  expectThat(there.length === expected, `${there.length} containers are there: ${there.join(' ')}`);
}

export const oneProject: FaultCase<World> = {
  name: 'one-project',
  about:
    'any number of starts of one project at once: one container, every start answered with its own exit code',
  tries: { usual: 20, few: 1 },
  async attempt(world, random, note, { crowd: size }) {
    const before = world.events.seen.length;
    const crowd = crowdOf(random, size, [world.project()]).map((each) => ({
      ...each,
      domain: DOMAINS[0],
    }));
    note(crowd.map(({ kind }) => kind).join(' '));
    await runAll(world, crowd);
    await expectSandboxes(world, before, 1);
  },
};

export const twoDomains: FaultCase<World> = {
  name: 'two-domains',
  about: 'starts of one project in two domains at once: one container in each, nothing of one in the other',
  tries: { usual: 20, few: 1 },
  async attempt(world, random, note, { crowd: size }) {
    const before = world.events.seen.length;
    const crowd = crowdOf(random, Math.max(2, size), [world.project()]);
    note(crowd.map(({ kind, domain }) => `${domain}:${kind}`).join(' '));
    await runAll(world, crowd);
    await expectSandboxes(world, before, 2);
  },
};

export const firstStarts: FaultCase<World> = {
  name: 'first-starts',
  about:
    'the first starts of a fresh installation at once (no volumes, no networks): all work, one of everything',
  tries: { usual: 20, few: 1 },
  async attempt(world, random, note, { crowd: size }) {
    await world.wipe();
    const before = world.events.seen.length;
    const projects = [world.project(), world.project()] as const;
    const crowd = crowdOf(random, Math.max(2, size), [...projects]);
    note(crowd.map(({ kind, domain }) => `${domain}:${kind}`).join(' '));
    await runAll(world, crowd);
    const pairs = new Set(crowd.map(({ project, domain }) => `${project} ${domain}`));
    await expectSandboxes(world, before, pairs.size);
  },
};
