/** B1 and B3: a start with no sandbox yet, and one that joins it, each against plain docker with everything equal. */
import { timeOfAnswer } from '../commands.ts';
import type { Row, RowMaker, Side } from '../row.ts';
import { mountFlags, type Twin, twinOf } from '../twin.ts';
import { ANSWER, type BenchWorld, PROMPT } from '../world.ts';

const PI = ['-p', PROMPT];

/** `start P -- -p hi`; with `cold` the sandbox is stopped after each run. */
export function startSide(world: BenchWorld, cold: boolean): Side {
  const { project, piSandbox, signal } = world;
  return {
    name: `pi-sandbox start -- -p hi (${cold ? 'no sandbox yet' : 'sandbox running'})`,
    measure: () => timeOfAnswer(piSandbox('start', project, '--', ...PI), ANSWER, signal),
    ...(cold ? { reset: () => world.output(piSandbox('stop', project)).then(() => undefined) } : {}),
  };
}

export const coldStart: RowMaker = async (world) => {
  const twin = await twinOf(world);
  await world.output(world.piSandbox('stop', world.project));
  const row: Row = {
    id: 'B1',
    work: 'cold start, to the last byte of the answer',
    goal: 1.15,
    ours: startSide(world, true),
    baseline: dockerRun(world, twin),
  };
  return [row];
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
    ours: startSide(world, false),
    baseline: {
      name: 'docker exec pi -p hi (same sandbox)',
      measure: () => timeOfAnswer(command, ANSWER, world.signal),
    },
  };
  return [row];
};
