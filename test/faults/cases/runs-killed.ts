import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../src/lib/clock.ts';
import { listRuns, type RunDirectory, reattachRun, sweepRuns } from '../../../src/runs/index.ts';
import { type ModelServer, modelServer } from '../../setup/model-server.ts';
import { piCli } from '../../setup/pi.ts';
import { expectThat } from '../commands.ts';
import type { FaultCase } from '../fault-case.ts';
import type { FaultPlan } from '../history/broken-fs.ts';
import { processesOf } from '../jobs/processes.ts';
import { writeLauncher } from '../jobs/stand-in.ts';
import type { Random } from '../random.ts';
import { findingsAtEnd, hasFinished, jobOf, stateOf, timesDone, untrueNow } from '../runs/checker.ts';
import { makeRunScene, type RunScene, type RunSceneOptions, STEPS } from '../runs/scene.ts';
import type { RunsWorld } from '../runs/world.ts';

/** A run without faults takes about so long. */
const LONGEST_MS = 2_500;
const LONGEST_REAL_MS = 12_000;
const QUIET_MS = 30_000;
const MOST_KILLS = 3;
const SWEEPER = {
  clock: systemClock,
  identity: { pid: process.pid, host: 'faults', uid: process.getuid?.() ?? 0 },
};

type Killing =
  /** At a moment, whichever of them lives. */
  | { readonly kind: 'moment'; readonly after: number; readonly which: 'owner' | 'owner and runners' }
  /** At a change to the file system. */
  | { readonly kind: 'call'; readonly plan: FaultPlan };

const known = new Map<FaultPlan['of'], number>();

/** How many calls an owner makes when nothing fails. */
async function callsOf(world: RunsWorld, of: FaultPlan['of']): Promise<number> {
  const found = known.get(of);
  if (found !== undefined) return found;
  const scene = makeRunScene(world);
  const run = await scene.start({ at: 0, of, fault: 'kill' });
  await scene.ownerless(run);
  await quiet(scene);
  const calls = Math.max(1, ...readFileSync(scene.counts, 'utf8').trim().split('\n').map(Number));
  known.set(of, calls);
  return calls;
}

async function quiet({ state }: RunScene): Promise<void> {
  const until = Date.now() + QUIET_MS;
  for (let left = processesOf(state); left.length > 0; left = processesOf(state)) {
    expectThat(Date.now() < until, `still running: ${left.map(({ words }) => words.join(' ')).join('; ')}`);
    await sleep(30);
  }
}

/** What list and reattach say is what the disk and the jobs say. */
async function agrees({ place }: RunScene, run: RunDirectory): Promise<void> {
  const state = stateOf(run);
  const { status, worktrees } = await reattachRun(run);
  expectThat(JSON.stringify(status.steps) === JSON.stringify(state.steps), 'reattach tells other steps');
  expectThat(
    worktrees.every(({ cleanedUp }) => !cleanedUp),
    'reattach tells of worktrees as cleaned up',
  );
  const caller = { session: null, operator: true };
  const { runs } = await listRuns(place, { caller });
  const row = runs.find(({ runDir }) => runDir === run);
  const wanted = state.terminal ? 'this-session' : 'orphan';
  expectThat(row?.status === state.status, `list says ${row?.status}, and it is ${state.status}`);
  expectThat(row?.ownerClass === wanted, `list says ${row?.ownerClass}, and it is ${wanted}`);
}

/** Steps whose agents have finished: none of them may ever be asked again. */
function finished(scene: RunScene, run: RunDirectory): Map<string, number> {
  const times = timesDone(scene, run);
  return new Map(
    STEPS.filter(({ id }) => hasFinished(jobOf(scene, run, id))).map(({ id }) => [id, times.get(id) ?? 0]),
  );
}

async function killedThenContinued(
  world: RunsWorld,
  note: (text: string) => void,
  killings: readonly Killing[],
  { mayFail = false, ...options }: RunSceneOptions & { readonly mayFail?: boolean } = {},
): Promise<void> {
  const scene = makeRunScene(world, options);
  let before = new Map<string, number>();
  let run: RunDirectory | undefined;
  let runnersDied = false;
  world.inspect(() => {
    if (run === undefined)
      return { lost: ['there is no run'], untrue: [], 'done twice': [], processes: [], 'left over': [] };
    const times = timesDone(scene, run);
    const twice = [...before].filter(([id, count]) => times.get(id) !== count).map(([id]) => id);
    const often = runnersDied ? [] : [...times].filter(([, count]) => count > 1).map(([id]) => id);
    return { ...findingsAtEnd(scene, run, mayFail), 'done twice': [...new Set([...twice, ...often])] };
  });
  for (const killing of killings) {
    const plan = killing.kind === 'call' ? killing.plan : undefined;
    if (run === undefined) run = await scene.start(plan);
    else if (!stateOf(run).terminal) await scene.goOn(run, plan);
    if (killing.kind === 'moment') {
      await sleep(killing.after);
      note(`${scene.kill(killing.which)} killed`);
      runnersDied ||= killing.which !== 'owner';
    }
    await scene.ownerless(run);
    const untrue = untrueNow(scene, run);
    expectThat(untrue.length === 0, `after the kill: ${untrue.join('; ')}`);
    await agrees(scene, run);
    before = new Map([...finished(scene, run), ...before]);
  }
  if (run === undefined) return;
  if (!stateOf(run).terminal) {
    await scene.goOn(run);
    await scene.ownerless(run);
  }
  await quiet(scene);
  // No owner comes after the end: what one was killed before telling is told by the next sweep.
  await sweepRuns(scene.place, SWEEPER);
  await agrees(scene, run);
}

function killingsOf(random: Random, make: () => Killing): Killing[] {
  return Array.from({ length: 1 + random.below(MOST_KILLS) }, make);
}

export const runKilled: FaultCase<RunsWorld> = {
  name: 'run-killed',
  about:
    'SIGKILL of the owner, or of it and all runners, at up to three random moments of a run of 12 steps: true after each, and continued each step is done once',
  tries: { usual: 100, few: 2 },
  async attempt(world, random, note) {
    const killings = killingsOf(random, () => ({
      kind: 'moment',
      after: random.below(LONGEST_MS),
      which: random.pick(['owner', 'owner', 'owner and runners'] as const),
    }));
    note(
      killings.map((one) => (one.kind === 'moment' ? `${one.which} after ${one.after} ms` : '')).join(', '),
    );
    await killedThenContinued(world, note, killings);
  },
};

export const runKilledAtCall: FaultCase<RunsWorld> = {
  name: 'run-killed-at-call',
  about:
    'SIGKILL of the owner before, after or within up to three random changes to the file system: true after each, and continued each step is done once',
  tries: { usual: 100, few: 2 },
  async attempt(world, random, note) {
    const calls = await callsOf(world, 'changes');
    const killings = killingsOf(random, () => {
      const fault = random.pick(['kill', 'kill-after', 'kill-torn'] as const);
      return { kind: 'call', plan: { at: 1 + random.below(calls), of: 'changes', fault } };
    });
    note(
      killings
        .map((one) => (one.kind === 'call' ? `${one.plan.fault} at ${one.plan.at} of ${calls}` : ''))
        .join(', '),
    );
    await killedThenContinued(world, note, killings);
  },
};

/** Every step uses a tool, which says what it did as the stand-in does. */
function realPi(model: ModelServer): NonNullable<RunSceneOptions['pi']> {
  return (command, agent, done) => {
    const job = '"$(basename "$MULTI_AGENT_JOB")"';
    model.callBash('do ', `echo ${job} >> work.txt; sleep 0.2; echo ${job} >> ${done}`, 'did it');
    writeFileSync(join(agent, 'models.json'), model.models);
    writeFileSync(join(agent, 'settings.json'), model.settings);
    writeLauncher(command, piCli());
  };
}

export const runKilledRealPi: FaultCase<RunsWorld> = {
  name: 'run-killed-real-pi',
  about: 'SIGKILL of the owner at up to three random moments, with real pi and its tools',
  tries: { usual: 10, few: 1 },
  async attempt(world, random, note) {
    // A model of its own for each try: the script names the try's files.
    const model = await modelServer();
    const after = (): number => random.below(LONGEST_REAL_MS);
    const killings = killingsOf(random, () => ({ kind: 'moment', after: after(), which: 'owner' }));
    note(killings.map((one) => (one.kind === 'moment' ? `after ${one.after} ms` : '')).join(', '));
    try {
      await killedThenContinued(world, note, killings, { pi: realPi(model) });
    } finally {
      await model.stop();
    }
  },
};

export const runFailingCalls: FaultCase<RunsWorld> = {
  name: 'run-io-errors',
  about:
    'one call of the owner fails with EIO, ENOSPC or EACCES: a step has failed and says why, or the owner has ended and the next one goes on; nothing is untrue',
  tries: { usual: 100, few: 2 },
  async attempt(world, random, note) {
    const calls = await callsOf(world, 'all');
    const fault = random.pick(['EIO', 'ENOSPC', 'EACCES'] as const);
    const plan: FaultPlan = { at: 1 + random.below(calls), of: 'all', fault };
    note(`${fault} at call ${plan.at} of ${calls}`);
    await killedThenContinued(world, note, [{ kind: 'call', plan }], { mayFail: true });
  },
};
