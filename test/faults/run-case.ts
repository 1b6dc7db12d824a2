/** Tries one kind of fault as often as asked, and looks after each try for what is left or lost. */
import { setTimeout as sleep } from 'node:timers/promises';
import { countOf, findLeaks, findLosses, KINDS, type Leaks } from './checker.ts';
import type { FaultCase, Scale } from './fault-case.ts';
import { randomOf } from './random.ts';
import type { World } from './world.ts';

/** How long a helper that was never started may stay (src/cli/sandbox/volumes.ts). */
const ABANDONED_MS = 11_000;

export interface RunOptions extends Scale {
  seed: string;
  /** Number of the first try: with count 1, the one that is repeated. */
  from: number;
  count: number;
  onTry?: (failed: string | undefined) => void;
}

export interface Tally {
  name: string;
  tried: number;
  survived: number;
  lost: number;
  leaked: Record<keyof Leaks, number>;
  /** Each with the command that repeats it. */
  failures: string[];
  slowestMs: number;
}

export async function runCase(world: World, fault: FaultCase, options: RunOptions): Promise<Tally> {
  const { seed, from, count, onTry } = options;
  const leaked = { containers: 0, networks: 0, volumes: 0, processes: 0, 'mount points': 0, sockets: 0 };
  const tally: Tally = {
    name: fault.name,
    tried: 0,
    survived: 0,
    lost: 0,
    leaked,
    failures: [],
    slowestMs: 0,
  };
  try {
    await fault.prepare?.(world);
    for (let number = from; number < from + count; number++) {
      const notes: string[] = [];
      const started = Date.now();
      const problems = await attempt(world, fault, randomOf(seed, fault.name, number), notes, options);
      tally.slowestMs = Math.max(tally.slowestMs, Date.now() - started);
      tally.tried++;
      if (problems.said.length === 0) tally.survived++;
      else
        tally.failures.push(
          `${fault.name} ${number} (${notes.join('; ')}): ${problems.said.join('\n')}\n  again: ${again(world, fault.name, seed, number)}`,
        );
      tally.lost += problems.lost;
      for (const kind of KINDS) leaked[kind] += problems.leaks?.[kind].length ?? 0;
      onTry?.(problems.said.length === 0 ? undefined : tally.failures.at(-1));
    }
  } finally {
    await fault.finish?.();
  }
  return tally;
}

function again({ kind }: World, name: string, seed: string, number: number): string {
  const engine = kind === 'docker' ? '' : `--engine ${kind} `;
  return `npm run faults -- ${engine}--only ${name} --seed ${seed} --from ${number} --count 1`;
}

interface Problems {
  said: string[];
  lost: number;
  leaks?: Leaks;
}

async function attempt(
  world: World,
  fault: FaultCase,
  random: ReturnType<typeof randomOf>,
  notes: string[],
  scale: Scale,
): Promise<Problems> {
  const problems: Problems = { said: [], lost: 0 };
  const say = (error: unknown): void =>
    void problems.said.push(error instanceof Error ? error.message : String(error));
  await fault.attempt(world, random, (text) => void notes.push(text), scale).catch(say);
  await world.stopAll().catch(say);
  const lost = await findLosses(world).catch((error: unknown) => [String(error)]);
  problems.lost = lost.length;
  problems.said.push(...lost.map((item) => `lost: ${item}`));
  problems.leaks = await findLeaks(world);
  if (problems.leaks.containers.length > 0) {
    // One that was made and never started is cleared away as soon as it is old enough to belong to nobody.
    await sleep(ABANDONED_MS);
    await world.stopAll().catch(say);
    problems.leaks = await findLeaks(world);
  }
  if (countOf(problems.leaks) > 0) {
    for (const kind of KINDS)
      problems.said.push(...problems.leaks[kind].map((item) => `leaked ${kind}: ${item}`));
    // What one try left must not be counted again at the next.
    await world.clear();
  }
  return problems;
}
