/** `multi-agent runs` as a user calls it: the scene of the jobs' command, with graphs and owners. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { isHeld } from '../../../../src/lib/kernel-lock.ts';
import { type RunDirectory, type RunsPlace, runIds, runLock, runsPlace } from '../../../../src/runs/index.ts';
import { until } from '../../../setup/pi.ts';
import { type Call, type CommandScene, commandScene } from '../../jobs/command/scene.ts';

export interface RunScene extends CommandScene {
  place: RunsPlace;
  /** Writes a graph and gives its path. */
  graph(steps: readonly object[], name?: string): string;
  runs(...words: string[]): Promise<Call>;
  runsJson(...words: string[]): Promise<Record<string, unknown>>;
  /** Starts a run of these steps; its id. */
  startRun(steps: readonly object[], ...words: string[]): Promise<string>;
  /** Ends the owner of a run without a word. */
  killOwner(directory: RunDirectory): Promise<void>;
}

export async function runScene(): Promise<RunScene> {
  const scene = await commandScene();
  const place = runsPlace(scene.env, join(scene.top, 'home'));
  const killOwner: RunScene['killOwner'] = async (directory) => {
    let owner: number | undefined;
    await until('the owner, or its end', () => {
      owner = ownerOf(directory);
      return owner !== undefined || !isHeld(runLock(directory));
    });
    if (owner !== undefined) process.kill(owner, 'SIGKILL');
    await until('the end of the owner', () => !isHeld(runLock(directory)));
  };
  onTestFinished(async () => {
    for (const id of runIds(place)) await killOwner(join(place.root, id));
  });
  const graph: RunScene['graph'] = (steps, name = 'graph.json') => {
    const path = join(scene.top, name);
    writeFileSync(path, JSON.stringify({ objective: 'a test', steps }));
    return path;
  };
  const runsJson: RunScene['runsJson'] = (...words) => scene.json('runs', ...words);
  return {
    ...scene,
    place,
    graph,
    runs: (...words) => scene.call('runs', ...words),
    runsJson,
    async startRun(steps, ...words) {
      const { runId } = await runsJson('start', graph(steps), ...words);
      return String(runId);
    },
    killOwner,
  };
}

/** The process that a run's manifest names, once that is its owner and no longer whoever started it. */
function ownerOf(directory: RunDirectory): number | undefined {
  try {
    const { ownerPid } = JSON.parse(readFileSync(join(directory, 'manifest.json'), 'utf8'));
    const words = readFileSync(`/proc/${ownerPid}/cmdline`, 'utf8').split('\0');
    return words.includes(directory) ? ownerPid : undefined;
  } catch {
    return undefined;
  }
}
