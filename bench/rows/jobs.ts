/** B11 to B14 and B18: what a job costs beyond its pi. All of it runs on this machine, without a sandbox. */
import { spawn } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeEndedJob } from '../../test/setup/ended-job.ts';
import { modelServer } from '../../test/setup/model-server.ts';
import { piCli } from '../../test/setup/pi.ts';
import { type Command, run, timeOfAnswer } from '../commands.ts';
import type { Row, RowMaker, Side } from '../row.ts';
import { ANSWER, type BenchWorld, PROMPT } from '../world.ts';

const PROGRAM = resolve('dist/container/multi-agent.cjs');
const CROWD = 24;
/** Jobs of the longest list. */
const MANY = 10_000;

/** A project with a state and an agent directory of its own. */
export interface Place {
  readonly project: string;
  readonly state: string;
  readonly jobs: string;
  pi(...words: string[]): Command;
  agent(...words: string[]): Command;
}

export function makePlace({ scratch }: BenchWorld, name: string): Place {
  const top = join(scratch, name);
  const at = (folder: string): string => {
    mkdirSync(join(top, folder), { recursive: true, mode: 0o700 });
    return join(top, folder);
  };
  const [project, state, agent, bin] = [at('project'), at('state'), at('agent'), at('bin')];
  for (const file of ['models.json', 'settings.json']) {
    copyFileSync(join(scratch, 'configuration/config', file), join(agent, file));
  }
  // A script that becomes pi, as the sandbox's launcher is: both sides start it.
  writeFileSync(join(bin, 'pi'), `#!/bin/sh\nexec "${process.execPath}" "${piCli()}" "$@"\n`, {
    mode: 0o755,
  });
  const environment: NodeJS.ProcessEnv = {
    PATH: `${bin}:${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
    HOME: at('home'),
    XDG_STATE_HOME: state,
    PI_CODING_AGENT_DIR: agent,
    PI_OFFLINE: '1',
    PI_TELEMETRY: '0',
    PI_SKIP_VERSION_CHECK: '1',
    MULTI_AGENT_MAX_RUNNING: String(CROWD),
    PWD: project,
  };
  const folder = project.slice(1).replace(/[^A-Za-z0-9]/g, '-');
  return {
    project,
    state,
    jobs: join(state, 'pi-multi-agent', folder, 'jobs'),
    pi: (...words) => ({ file: join(bin, 'pi'), words, environment, directory: project }),
    agent: (...words) => ({
      file: process.execPath,
      words: [PROGRAM, ...words],
      environment,
      directory: project,
    }),
  };
}

function removeJobs({ jobs }: Place): void {
  rmSync(jobs, { recursive: true, force: true });
}

export const oneJob: RowMaker = async (world) => {
  const place = makePlace(world, 'one-job');
  return [
    {
      id: 'B11',
      work: 'one job, to its result',
      goal: 1.25,
      ours: {
        name: `multi-agent run ${PROMPT}`,
        measure: () => timeOfAnswer(place.agent('run', PROMPT), ANSWER, world.signal),
        reset: async () => removeJobs(place),
      },
      baseline: {
        name: `pi -p ${PROMPT}`,
        measure: () => timeOfAnswer(place.pi('-p', PROMPT), ANSWER, world.signal),
      },
    },
  ];
};

export const manyJobs: RowMaker = async (world) => {
  const place = makePlace(world, 'many-jobs');
  const names = Array.from({ length: CROWD }, (_, number) => `j${number}`);
  // Of many that start at once in one agent directory, pi itself lets some wait for its lock, and now and then one fail.
  const alone = names.map((name) => makePlace(world, `alone-${name}`));
  const all = async (commands: readonly Command[], expected: string): Promise<void> => {
    await Promise.all(commands.map((command) => timeOfAnswer(command, expected, world.signal)));
  };
  return [
    {
      id: 'B12',
      work: `${CROWD} jobs at once, until all are done`,
      goal: 1.15,
      ours: {
        name: `${CROWD} times multi-agent start, then wait`,
        measure: () =>
          timed(async () => {
            await all(
              names.map((name) => place.agent('start', '--name', name, PROMPT)),
              'name: ',
            );
            const { output } = await run(place.agent('wait', ...names), world.signal);
            const done = output.split('\n').filter((line) => line.endsWith(' done')).length;
            if (done !== CROWD) throw new Error(`${done} of ${CROWD} jobs are done: ${output}`);
          }),
        reset: async () => removeJobs(place),
      },
      baseline: {
        name: `${CROWD} times pi -p, each with an agent directory of its own`,
        measure: () =>
          timed(() =>
            all(
              alone.map((each) => each.pi('-p', PROMPT)),
              ANSWER,
            ),
          ),
      },
    },
  ];
};

async function timed(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Long enough for what a process frees by itself after its start. */
const SETTLED_MS = 2_000;
const LATE_MS = 30_000;

export const runnerMemory: RowMaker = async (world) => {
  const place = makePlace(world, 'runner-memory');
  return [
    {
      id: 'B13',
      work: 'resident memory of a runner whose pi works, in KiB',
      goal: 1.3,
      ours: { name: 'multi-agent-runner', measure: () => memoryOfRunner(world, place) },
      baseline: { name: "node -e 'setInterval(() => {}, 1e9)'", measure: memoryOfNode },
    },
  ];
};

async function memoryOfRunner({ signal }: BenchWorld, place: Place): Promise<number> {
  const model = await modelServer();
  model.callBash('sleep', 'sleep 60', 'awake');
  writeFileSync(join(dirname(place.project), 'agent/models.json'), model.models);
  try {
    await run(place.agent('start', '--name', 'sleeper', 'sleep'), signal);
    const log = join(place.jobs, 'sleeper/progress.log');
    const works = (): boolean => existsSync(log) && readFileSync(log, 'utf8').includes(' tool bash');
    for (const late = Date.now() + LATE_MS; !works(); await sleep(100)) {
      if (Date.now() > late) throw new Error('the job does not begin');
    }
    await sleep(SETTLED_MS);
    return residentOf(runnerOf(join(place.jobs, 'sleeper')));
  } finally {
    await run(place.agent('kill', 'sleeper'), signal).catch(() => undefined);
    removeJobs(place);
    await model.stop();
  }
}

function runnerOf(job: string): number {
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
      if (words.includes(job) && words.some((word) => word.includes('multi-agent-runner')))
        return Number(name);
    } catch {
      // It has just ended.
    }
  }
  throw new Error('no runner');
}

function residentOf(pid: number): number {
  const [, kibibytes] = readFileSync(`/proc/${pid}/status`, 'utf8').match(/^VmRSS:\s+(\d+) kB$/m) ?? [];
  return Number(kibibytes);
}

async function memoryOfNode(): Promise<number> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e9)'], { stdio: 'ignore' });
  try {
    await sleep(SETTLED_MS);
    return residentOf(child.pid ?? 0);
  } finally {
    child.kill('SIGKILL');
  }
}

/** Opens what `list` opens, and prints as much. */
const LOOP = `
const { readdirSync, readFileSync } = require('node:fs');
const [, jobs] = process.argv;
const list = readdirSync(jobs).map((name) => {
  const text = (file) => readFileSync(jobs + '/' + name + '/' + file, 'utf8');
  const record = JSON.parse(text('job.json'));
  return { ...record, code: text('exit_code'), started: text('started_at'), ended: text('ended_at') };
});
process.stdout.write(JSON.stringify({ version: 1, jobs: list }, undefined, 2));`;

export const listJobs: RowMaker = async (world) => {
  const places = new Map([MANY / 100, MANY / 10, MANY].map((count) => [count, placeOf(world, count)]));
  const many = placeOf(world, MANY, places);
  const ours = (count: number, name: string): Side => ({
    name,
    measure: async () =>
      (await run(placeOf(world, count, places).agent('list', '--json'), world.signal)).toEnd,
  });
  const growth = [MANY / 10, MANY].flatMap((count): Row[] => [
    {
      id: `B18j ${count}`,
      work: `list of ${count} jobs against ${count / 10}`,
      goal: 10,
      ours: ours(count, 'ten times as many'),
      baseline: ours(count / 10, `${count / 10} jobs`),
    },
    {
      id: `B18jm ${count}`,
      work: 'the same, peak memory in KiB',
      ours: { name: 'ten times as many', measure: () => peakOf(world, placeOf(world, count, places)) },
      baseline: {
        name: `${count / 10} jobs`,
        measure: () => peakOf(world, placeOf(world, count / 10, places)),
      },
    },
  ]);
  return [
    {
      id: 'B14',
      work: `list of ${MANY} jobs`,
      goal: 1.5,
      ours: ours(MANY, 'multi-agent list --json'),
      baseline: {
        name: 'a plain loop in node over the same files',
        measure: async () =>
          (await run({ file: process.execPath, words: ['-e', LOOP, many.jobs] }, world.signal)).toEnd,
      },
    },
    ...growth,
  ];
};

function placeOf(world: BenchWorld, count: number, known?: ReadonlyMap<number, Place>): Place {
  const found = known?.get(count);
  if (found !== undefined) return found;
  const place = makePlace(world, `list-${count}`);
  for (let number = 0; number < count; number++) {
    const name = `job-${String(number).padStart(5, '0')}`;
    writeEndedJob(join(place.jobs, name), place.project, join(dirname(place.project), 'conversations'));
  }
  process.stderr.write(`bench: made ${count} jobs\n`);
  return place;
}

export async function peakOf(
  { scratch, signal }: BenchWorld,
  place: Place,
  list: readonly string[] = ['list', '--json'],
): Promise<number> {
  const told = join(scratch, 'peak');
  const say = `import { writeFileSync } from 'node:fs';
    process.on('exit', () => writeFileSync(${JSON.stringify(told)}, String(process.resourceUsage().maxRSS)));`;
  const { file, words, ...rest } = place.agent(...list);
  const preload = `--import=data:text/javascript,${encodeURIComponent(say)}`;
  await run({ file, words: [preload, ...words], ...rest }, signal);
  return Number(readFileSync(told, 'utf8'));
}
