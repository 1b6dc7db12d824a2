/** Tries one kind of fault as often as asked, and looks after each try for what is left or lost. */
import type { FaultCase, Inspection, Leaks, Scale } from './fault-case.ts';
import { randomOf } from './random.ts';

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
  leaked: Record<string, number>;
  /** Each with the command that repeats it. */
  failures: string[];
  slowestMs: number;
}

export async function runCase<World>(
  world: World,
  inspection: Inspection<World>,
  fault: FaultCase<World>,
  options: RunOptions,
): Promise<Tally> {
  const { seed, from, count, onTry } = options;
  const leaked: Record<string, number> = Object.fromEntries(inspection.kinds.map((kind) => [kind, 0]));
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
      const random = randomOf(seed, fault.name, number);
      const problems = await attempt(
        world,
        inspection,
        (note) => fault.attempt(world, random, note, options),
        notes,
      );
      tally.slowestMs = Math.max(tally.slowestMs, Date.now() - started);
      tally.tried++;
      if (problems.said.length === 0) tally.survived++;
      else
        tally.failures.push(
          `${fault.name} ${number} (${notes.join('; ')}): ${problems.said.join('\n')}\n  again: ${again(inspection.flags?.(world) ?? '', fault.name, seed, number)}`,
        );
      tally.lost += problems.lost;
      for (const kind of inspection.kinds)
        leaked[kind] = (leaked[kind] ?? 0) + (problems.leaks?.[kind]?.length ?? 0);
      onTry?.(problems.said.length === 0 ? undefined : tally.failures.at(-1));
    }
  } finally {
    await fault.finish?.();
  }
  return tally;
}

function again(flags: string, name: string, seed: string, number: number): string {
  return `npm run faults -- ${flags}--only ${name} --seed ${seed} --from ${number} --count 1`;
}

interface Problems {
  said: string[];
  lost: number;
  leaks?: Leaks;
}

async function attempt<World>(
  world: World,
  inspection: Inspection<World>,
  work: (note: (text: string) => void) => Promise<void>,
  notes: string[],
): Promise<Problems> {
  const problems: Problems = { said: [], lost: 0 };
  const say = (error: unknown): void =>
    void problems.said.push(error instanceof Error ? error.message : String(error));
  await work((text) => void notes.push(text)).catch(say);
  await inspection.settle(world).catch(say);
  const lost = await inspection.losses(world).catch((error: unknown) => [String(error)]);
  problems.lost = lost.length;
  problems.said.push(...lost.map((item) => `lost: ${item}`));
  problems.leaks = await inspection.leaks(world);
  for (const kind of inspection.kinds)
    problems.said.push(...(problems.leaks[kind] ?? []).map((item) => `leaked ${kind}: ${item}`));
  if (inspection.kinds.some((kind) => (problems.leaks?.[kind]?.length ?? 0) > 0))
    await inspection.clear(world);
  return problems;
}
