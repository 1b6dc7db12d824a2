/**
 * `npm run faults [-- --count N] [--seed S] [--only name,…] [--from K] [--crowd N] [--engine docker|podman]`: starts,
 * session history, agent directories, work directories, jobs and runs under faults (docs/faults.md). Exit code 1 when a fault was not survived, or
 * something was lost or left over.
 */
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import {
  AGENT_DIR_INSPECTION,
  type AgentDirWorld,
  openAgentDirWorld,
} from '../test/faults/agent-dir/world.ts';
import { AGENT_DIR_FAULTS } from '../test/faults/cases/agent-dir.ts';
import { HISTORY_FAULTS } from '../test/faults/cases/history.ts';
import { START_FAULTS } from '../test/faults/cases/index.ts';
import { JOB_FAULTS } from '../test/faults/cases/jobs.ts';
import { RUN_FAULTS } from '../test/faults/cases/runs.ts';
import { WORK_FAULTS } from '../test/faults/cases/work.ts';
import { START_INSPECTION } from '../test/faults/checker.ts';
import type { FaultCase, Inspection } from '../test/faults/fault-case.ts';
import { HISTORY_INSPECTION, type HistoryWorld, openHistoryWorld } from '../test/faults/history/world.ts';
import { JOB_INSPECTION, type JobsWorld, openJobsWorld } from '../test/faults/jobs/world.ts';
import { tableOf } from '../test/faults/report.ts';
import { runCase, type Tally } from '../test/faults/run-case.ts';
import { openRunsWorld, RUN_INSPECTION, type RunsWorld } from '../test/faults/runs/world.ts';
import { openWorkWorld, WORK_INSPECTION, type WorkWorld } from '../test/faults/work/world.ts';
import { openWorld, type World } from '../test/faults/world.ts';
import setup from '../test/setup/e2e-global.ts';
import type { E2e } from '../test/setup/scene.ts';

const CROWD = 20;
const NAMES = [
  ...START_FAULTS,
  ...HISTORY_FAULTS,
  ...AGENT_DIR_FAULTS,
  ...WORK_FAULTS,
  ...JOB_FAULTS,
  ...RUN_FAULTS,
].map(({ name }) => name);

const { values } = parseArgs({
  options: {
    count: { type: 'string' },
    seed: { type: 'string', default: randomBytes(4).toString('hex') },
    only: { type: 'string', default: NAMES.join(',') },
    from: { type: 'string', default: '0' },
    crowd: { type: 'string', default: String(CROWD) },
    engine: { type: 'string', default: 'docker' },
  },
});
const { engine } = values;
if (engine !== 'docker' && engine !== 'podman') refuse(`--engine ${engine}: docker or podman`);
const wanted = values.only.split(',');
const unknown = wanted.find((name) => !NAMES.includes(name));
if (unknown !== undefined) refuse(`--only ${unknown}: there are ${NAMES.join(', ')}`);
const numberOf = (option: 'count' | 'from' | 'crowd', least: number): number | undefined => {
  const value = values[option];
  if (value === undefined) return undefined;
  if (!/^\d{1,6}$/.test(value) || Number(value) < least)
    refuse(`--${option} ${value}: a whole number from ${least} on`);
  return Number(value);
};
const [count, from, crowd] = [numberOf('count', 1), numberOf('from', 0) ?? 0, numberOf('crowd', 1) ?? CROWD];

let scene: E2e | undefined;
let world: World | undefined;
let historyWorld: HistoryWorld | undefined;
let agentDirWorld: AgentDirWorld | undefined;
let workWorld: WorkWorld | undefined;
let jobsWorld: JobsWorld | undefined;
let runsWorld: RunsWorld | undefined;
let tearDown = async (): Promise<void> => undefined;
const say = (text: string): void => void process.stderr.write(`${text}\n`);
say(`faults: ${engine}, seed ${values.seed}`);
const ofStarts: Tally[] = [];
const ofHistory: Tally[] = [];
const ofAgentDir: Tally[] = [];
const ofWork: Tally[] = [];
const ofJobs: Tally[] = [];
const ofRuns: Tally[] = [];
let ending: Promise<never> | undefined;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (ending === undefined) say(`\nfaults: ended by ${signal}; what was found until then:`);
    void end(1);
  });
}
try {
  for (const fault of HISTORY_FAULTS.filter(({ name }) => wanted.includes(name))) {
    historyWorld = openHistoryWorld();
    ofHistory.push(await tryCase(historyWorld, HISTORY_INSPECTION, fault));
    historyWorld.close();
  }
  for (const fault of AGENT_DIR_FAULTS.filter(({ name }) => wanted.includes(name))) {
    agentDirWorld = openAgentDirWorld();
    ofAgentDir.push(await tryCase(agentDirWorld, AGENT_DIR_INSPECTION, fault));
    agentDirWorld.close();
  }
  for (const fault of WORK_FAULTS.filter(({ name }) => wanted.includes(name))) {
    workWorld = openWorkWorld();
    ofWork.push(await tryCase(workWorld, WORK_INSPECTION, fault));
    workWorld.close();
  }
  for (const fault of JOB_FAULTS.filter(({ name }) => wanted.includes(name))) {
    jobsWorld = openJobsWorld();
    ofJobs.push(await tryCase(jobsWorld, JOB_INSPECTION, fault));
    jobsWorld.close();
  }
  for (const fault of RUN_FAULTS.filter(({ name }) => wanted.includes(name))) {
    runsWorld = openRunsWorld();
    ofRuns.push(await tryCase(runsWorld, RUN_INSPECTION, fault));
    runsWorld.close();
  }
  const starts = START_FAULTS.filter(({ name }) => wanted.includes(name));
  const provide = (_name: string, value: E2e): void => {
    scene = value;
  };
  // An image under a name of its own: tests that run beside this one prune theirs.
  if (starts.length > 0) tearDown = await setup({ provide }, 'faults-');
  for (const fault of starts) {
    if (scene === undefined) throw new Error('the set-up gave no scene');
    world = await openWorld(scene, engine);
    ofStarts.push(await tryCase(world, START_INSPECTION, fault));
    await world.close();
  }
} catch (error) {
  // While it is being cleared away, everything fails.
  if (ending === undefined) say(`\nfaults: ${error instanceof Error ? error.message : String(error)}`);
  await end(1);
}
await end(
  [...ofStarts, ...ofHistory, ...ofAgentDir, ...ofWork, ...ofJobs, ...ofRuns].every(
    ({ tried, survived }) => tried === survived,
  )
    ? 0
    : 1,
);

async function tryCase<W>(within: W, inspection: Inspection<W>, fault: FaultCase<W>): Promise<Tally> {
  say(`\n${fault.name}: ${fault.about}`);
  return runCase(within, inspection, fault, {
    seed: values.seed,
    from,
    count: count ?? fault.tries.usual,
    crowd,
    onTry: (failed) => void process.stderr.write(failed === undefined ? '.' : `\nFAILED ${failed}\n`),
  });
}

function end(code: number): Promise<never> {
  ending ??= endOnce(code);
  return ending;
}

/** Whatever happened, everything that was made goes, and what is known is printed. */
async function endOnce(code: number): Promise<never> {
  historyWorld?.close();
  agentDirWorld?.close();
  workWorld?.close();
  jobsWorld?.close();
  runsWorld?.close();
  await world?.close().catch((error: unknown) => say(String(error)));
  await tearDown().catch((error: unknown) => say(String(error)));
  if (ofStarts.length > 0) {
    const kinds = START_INSPECTION.kinds;
    process.stdout.write(`\n${tableOf(ofStarts, kinds)}\n`);
  }
  if (ofAgentDir.length > 0) process.stdout.write(`\n${tableOf(ofAgentDir, AGENT_DIR_INSPECTION.kinds)}\n`);
  if (ofWork.length > 0) process.stdout.write(`\n${tableOf(ofWork, WORK_INSPECTION.kinds)}\n`);
  if (ofJobs.length > 0) process.stdout.write(`\n${tableOf(ofJobs, JOB_INSPECTION.kinds)}\n`);
  if (ofRuns.length > 0) process.stdout.write(`\n${tableOf(ofRuns, RUN_INSPECTION.kinds)}\n`);
  if (ofHistory.length > 0) process.stdout.write(`\n${tableOf(ofHistory, HISTORY_INSPECTION.kinds)}\n`);
  process.stdout.write(`\n${engine}, seed ${values.seed}\n`);
  process.exit(code);
}

function refuse(text: string): never {
  say(`faults: ${text}`);
  process.exit(2);
}
