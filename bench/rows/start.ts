/** B1 and B3: a start with no sandbox yet, and one that joins it, each against plain docker with everything equal. */
import { setTimeout as sleep } from 'node:timers/promises';
import { timeOfAnswer } from '../commands.ts';
import type { Row, RowMaker, Side } from '../row.ts';
import { mountFlags, type Twin, twinOf } from '../twin.ts';
import { ANSWER, type BenchWorld, OWN_LABEL, PROMPT } from '../world.ts';

const PI = ['-p', PROMPT];

/** What was there before the start that is measured. */
export type Before =
  /** The sandbox runs. */
  | 'running'
  /** It ended by itself, as most do; its domain's network is there, as the baseline's is. */
  | 'idle-ended'
  /** `stop` ended it, and with a domain's last sandbox removed the network. */
  | 'stopped';

export function startSide(world: BenchWorld, before: Before): Side {
  const { project, piSandbox, signal } = world;
  const start = piSandbox('start', project, '--', ...PI);
  const command =
    before === 'idle-ended'
      ? { ...start, environment: { ...start.environment, PI_SANDBOX_IDLE_STOP_MINUTES: '0' } }
      : start;
  return {
    name: `pi-sandbox start -- -p ${PROMPT} (${before})`,
    measure: () => timeOfAnswer(command, ANSWER, signal),
    reset: async () => {
      if (before === 'idle-ended') await untilGone(world);
      if (before === 'stopped') await world.output(piSandbox('stop', project));
    },
  };
}

/** The sandbox ends itself once pi has; this is not measured. */
async function untilGone({ docker, output }: BenchWorld): Promise<void> {
  const list = docker(
    'ps',
    '-aq',
    '--filter',
    `label=${OWN_LABEL}`,
    '--filter',
    'label=pi-sandbox.role=sandbox',
  );
  for (let tries = 0; (await output(list)).trim() !== ''; tries++) {
    if (tries > 200) throw new Error('the sandbox did not end by itself');
    await sleep(50);
  }
}

export const coldStart: RowMaker = async (world) => {
  const twin = await twinOf(world);
  await world.output(world.piSandbox('stop', world.project));
  const rows: Row[] = [
    {
      id: 'B1',
      work: 'cold start, to the last byte of the answer',
      goal: 1.15,
      ours: startSide(world, 'idle-ended'),
      baseline: dockerRun(world, twin),
    },
    {
      id: 'B1b',
      work: 'the same after `stop`: the network is made anew',
      ours: startSide(world, 'stopped'),
      baseline: dockerRun(world, twin),
    },
  ];
  return rows;
};

function dockerRun(world: BenchWorld, twin: Twin): Side {
  const command = world.docker(
    'run',
    '--rm',
    ...twin.flags,
    ...mountFlags(twin),
    `--env-file=${twin.environmentFile}`,
    '--entrypoint=/usr/bin/tini',
    twin.image,
    '--',
    'pi',
    ...PI,
  );
  return {
    name: 'docker run --rm pi -p hi (same image, mounts and flags)',
    measure: () => timeOfAnswer(command, ANSWER, world.signal),
  };
}

export const warmStart: RowMaker = async (world) => {
  const twin = await twinOf(world);
  const directory = `--workdir=${world.project}`;
  const command = world.docker(
    'exec',
    directory,
    `--env-file=${twin.environmentFile}`,
    twin.container,
    'pi',
    ...PI,
  );
  const row: Row = {
    id: 'B3',
    work: 'warm start, to the last byte of the answer',
    goal: 1.15,
    ours: startSide(world, 'running'),
    baseline: {
      name: 'docker exec pi -p hi (same sandbox)',
      measure: () => timeOfAnswer(command, ANSWER, world.signal),
    },
  };
  return [row];
};
