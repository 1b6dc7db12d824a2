/**
 * `npm run faults [-- --count N] [--seed S] [--only name,…] [--from K] [--crowd N]
 * [--engine docker|podman]`: the start under faults
 * (docs/faults.md). Exit code 1 when a fault was not survived, or something was lost or left over.
 */
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { START_FAULTS } from '../test/faults/cases/index.ts';
import { tableOf } from '../test/faults/report.ts';
import { runCase, type Tally } from '../test/faults/run-case.ts';
import { openWorld, type World } from '../test/faults/world.ts';
import setup from '../test/setup/e2e-global.ts';
import type { E2e } from '../test/setup/scene.ts';

const CROWD = 20;

const { values } = parseArgs({
  options: {
    count: { type: 'string' },
    seed: { type: 'string', default: randomBytes(4).toString('hex') },
    only: { type: 'string', default: START_FAULTS.map(({ name }) => name).join(',') },
    from: { type: 'string', default: '0' },
    crowd: { type: 'string', default: String(CROWD) },
    engine: { type: 'string', default: 'docker' },
  },
});
const { engine } = values;
if (engine !== 'docker' && engine !== 'podman') refuse(`--engine ${engine}: docker or podman`);
const wanted = values.only.split(',');
const unknown = wanted.find((name) => !START_FAULTS.some((fault) => fault.name === name));
if (unknown !== undefined)
  refuse(`--only ${unknown}: there are ${START_FAULTS.map(({ name }) => name).join(', ')}`);
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
const say = (text: string): void => void process.stderr.write(`${text}\n`);
say(`faults: ${engine}, seed ${values.seed}`);
const provide = (_name: string, value: E2e): void => {
  scene = value;
};
// An image under a name of its own: tests that run beside this one prune theirs.
const tearDown = await setup({ provide }, 'faults-');
const tallies: Tally[] = [];
let ending: Promise<never> | undefined;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (ending === undefined) say(`\nfaults: ended by ${signal}; what was found until then:`);
    void end(1);
  });
}
try {
  for (const fault of START_FAULTS.filter(({ name }) => wanted.includes(name))) {
    if (scene === undefined) throw new Error('the set-up gave no scene');
    say(`\n${fault.name}: ${fault.about}`);
    world = await openWorld(scene, engine);
    const tally = await runCase(world, fault, {
      seed: values.seed,
      from,
      count: count ?? fault.tries.usual,
      crowd,
      onTry: (failed) => void process.stderr.write(failed === undefined ? '.' : `\nFAILED ${failed}\n`),
    });
    tallies.push(tally);
    await world.close();
  }
} catch (error) {
  // While it is being cleared away, everything fails.
  if (ending === undefined) say(`\nfaults: ${error instanceof Error ? error.message : String(error)}`);
  await end(1);
}
await end(tallies.every(({ tried, survived }) => tried === survived) ? 0 : 1);

function end(code: number): Promise<never> {
  ending ??= endOnce(code);
  return ending;
}

/** Whatever happened, everything that was made goes, and what is known is printed. */
async function endOnce(code: number): Promise<never> {
  await world?.close().catch((error: unknown) => say(String(error)));
  await tearDown().catch((error: unknown) => say(String(error)));
  process.stdout.write(`\n${tableOf(tallies)}\n\n${engine}, seed ${values.seed}\n`);
  process.exit(code);
}

function refuse(text: string): never {
  say(`faults: ${text}`);
  process.exit(2);
}
