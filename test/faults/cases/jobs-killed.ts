import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ModelServer, modelServer } from '../../setup/model-server.ts';
import { piCli } from '../../setup/pi.ts';
import { expectThat } from '../commands.ts';
import type { FaultCase } from '../fault-case.ts';
import { watch } from '../jobs/aftermath.ts';
import { DEEDS, type Deed, doDeed, promptOf, RUNS } from '../jobs/deeds.ts';
import { isOurs, kill, processesOf } from '../jobs/processes.ts';
import { type Fault, type JobScene, makeJobScene } from '../jobs/scene.ts';
import { writeLauncher } from '../jobs/stand-in.ts';
import type { JobsWorld } from '../jobs/world.ts';

const known = new Map<string, number>();

/** How many calls a deed makes when nothing fails. */
async function callsOf(world: JobsWorld, deed: Deed, program: Fault['program'], of: 'changes' | 'all') {
  const key = `${deed.name} ${program} ${of}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const scene = makeJobScene(world);
  writeFileSync(scene.counts, '');
  await deed.act(scene, 'count 0', { program, plan: { at: 0, of, fault: 'kill' } });
  await watch(world, scene).finish();
  const counts = readFileSync(scene.counts, 'utf8').trim().split('\n').map(Number);
  const calls = Math.max(1, ...counts);
  known.set(key, calls);
  return calls;
}

export const jobKilledAtCall: FaultCase<JobsWorld> = {
  name: 'job-killed-at-call',
  about:
    'SIGKILL of a command or a runner before, after or within a random change to the file system: true, whole, and the next run works',
  tries: { usual: 200, few: 1 },
  async attempt(world, random, note) {
    const deed = random.pick(DEEDS);
    const program = random.pick(deed.programs);
    const calls = await callsOf(world, deed, program, 'changes');
    const fault = random.pick(['kill', 'kill-after', 'kill-torn']);
    const plan = { at: 1 + random.below(calls), of: 'changes', fault } as const;
    const prompt = promptOf(random);
    note(`${deed.name} "${prompt}": ${fault} of ${program} at change ${plan.at} of ${calls}`);
    const scene = makeJobScene(world);
    const watched = watch(world, scene);
    await doDeed(scene, deed, prompt, watched, { program, plan });
    await watched.finish();
  },
};

/** Which process is killed, by what it is. */
const TARGETS = ['command', 'runner', 'pi'] as const;

/** Whichever of them lives at this moment. */
function killOne(scene: JobScene, target: (typeof TARGETS)[number]): string {
  const state = scene.sockets.slice(0, -'/pi-multi-agent/sockets'.length);
  const all = processesOf(state);
  const found = all.filter((process) => {
    const isRunner = process.words.some((word) => word.endsWith('/multi-agent-runner.mjs'));
    if (target === 'pi') return process.job !== undefined && process.words.includes('--mode');
    return isOurs(process) && isRunner === (target === 'runner');
  });
  const killed = found.filter(({ pid }) => kill(pid)).length;
  return `${killed} killed`;
}

function killedAtMoment(
  name: string,
  about: string,
  tries: FaultCase<JobsWorld>['tries'],
  make: (world: JobsWorld) => JobScene,
  longestMs: number,
): FaultCase<JobsWorld> {
  return {
    name,
    about,
    tries,
    async attempt(world, random, note) {
      const deed = random.pick(RUNS);
      const target = random.pick(TARGETS);
      const after = random.below(longestMs);
      const prompt = promptOf(random);
      note(`${deed.name} "${prompt}": ${target} after ${after} ms`);
      const scene = make(world);
      const watched = watch(world, scene);
      const acting = doDeed(scene, deed, prompt, watched);
      await sleep(after);
      note(killOne(scene, target));
      await acting;
      await watched.finish();
    },
  };
}

export const jobKilled = killedAtMoment(
  'job-killed',
  'SIGKILL of the command, the runner, the launcher or pi at a random moment: true, whole, and the next run works',
  { usual: 200, few: 1 },
  (world) => makeJobScene(world),
  700,
);

let model: ModelServer | undefined;

/** The last runs of a try are answered at once, all others use a tool first, which leaves something behind. */
async function startModel(): Promise<void> {
  model = await modelServer();
  for (const job of ['old', 'new']) model.say(`again-${job}`, `did again-${job} 0`);
  model.callBash('p', '(setsid sleep 120 >/dev/null 2>&1 &); sleep 0.3', 'did it');
}

function realPi(command: string, agent: string): void {
  writeFileSync(join(agent, 'models.json'), model?.models ?? '');
  writeFileSync(join(agent, 'settings.json'), model?.settings ?? '');
  writeLauncher(command, piCli());
}

export const jobKilledRealPi: FaultCase<JobsWorld> = {
  ...killedAtMoment(
    'job-killed-real-pi',
    'the same with real pi and its tools',
    { usual: 30, few: 1 },
    (world) => makeJobScene(world, { pi: realPi }),
    2_500,
  ),
  prepare: startModel,
  finish: async () => model?.stop(),
};

export const jobFailingCalls: FaultCase<JobsWorld> = {
  name: 'job-io-errors',
  about:
    'one call of a command or a runner fails with EIO, ENOSPC or EACCES: said in words, and never told as done',
  tries: { usual: 200, few: 1 },
  async attempt(world, random, note) {
    const deed = random.pick(DEEDS);
    const program = random.pick(deed.programs);
    const calls = await callsOf(world, deed, program, 'all');
    const fault = random.pick(['EIO', 'ENOSPC', 'EACCES']);
    const plan = { at: 1 + random.below(calls), of: 'all', fault } as const;
    const prompt = promptOf(random);
    note(`${deed.name} "${prompt}": ${fault} in ${program} at call ${plan.at} of ${calls}`);
    const scene = makeJobScene(world);
    const watched = watch(world, scene);
    const called = await doDeed(scene, deed, prompt, watched, { program, plan });
    expectThat(
      called.code !== null && [0, 1, 70].includes(called.code),
      `${deed.name} ended with ${called.code}`,
    );
    await watched.finish();
  },
};
