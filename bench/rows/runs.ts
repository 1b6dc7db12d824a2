/** B14r and B18r: looking through runs, against the loop that anybody would write. */
import { join } from 'node:path';
import { writeEndedRun } from '../../test/setup/ended-run.ts';
import { run } from '../commands.ts';
import type { Row, RowMaker, Side } from '../row.ts';
import type { BenchWorld } from '../world.ts';
import { makePlace, type Place, peakOf } from './jobs.ts';

/** Runs of the longest list. */
const MANY = 10_000;
/** One that no run has: so all are looked at, whatever a page holds. */
const WORDS = ['runs', 'list', '--json', '--status', 'failed'];

/** Opens what `list` opens, and looks for the same. */
const LOOP = `
const { readdirSync, readFileSync } = require('node:fs');
const [, runs] = process.argv;
const json = (name, file) => JSON.parse(readFileSync(runs + '/' + name + '/' + file, 'utf8'));
const found = readdirSync(runs).sort().reverse().flatMap((name) => {
  const state = json(name, 'status.json');
  return state.status === 'failed' ? [{ ...json(name, 'manifest.json'), ...state }] : [];
});
process.stdout.write(JSON.stringify({ ok: true, runs: found }, undefined, 2));`;

export const listRuns: RowMaker = async (world) => {
  const places = new Map([MANY / 100, MANY / 10, MANY].map((count) => [count, placeOf(world, count)]));
  const at = (count: number): Place => places.get(count) ?? placeOf(world, count);
  const ours = (count: number, name: string): Side => ({
    name,
    measure: async () => (await run(at(count).agent(...WORDS), world.signal)).toEnd,
  });
  const growth = [MANY / 10, MANY].flatMap((count): Row[] => [
    {
      id: `B18r ${count}`,
      work: `a look through ${count} runs against ${count / 10}`,
      goal: 10,
      ours: ours(count, 'ten times as many'),
      baseline: ours(count / 10, `${count / 10} runs`),
    },
    {
      id: `B18rm ${count}`,
      work: 'the same, peak memory in KiB',
      ours: { name: 'ten times as many', measure: () => peakOf(world, at(count), WORDS) },
      baseline: { name: `${count / 10} runs`, measure: () => peakOf(world, at(count / 10), WORDS) },
    },
  ]);
  return [
    {
      id: 'B14r',
      work: `a look through ${MANY} runs`,
      goal: 1.5,
      ours: ours(MANY, `multi-agent ${WORDS.join(' ')}`),
      baseline: {
        name: 'a plain loop in node over the same files',
        measure: async () => {
          const words = ['-e', LOOP, runsOf(at(MANY))];
          return (await run({ file: process.execPath, words }, world.signal)).toEnd;
        },
      },
    },
    ...growth,
  ];
};

function runsOf({ state }: Place): string {
  return join(state, 'pi-multiagent/runs');
}

function placeOf(world: BenchWorld, count: number): Place {
  const place = makePlace(world, `runs-${count}`);
  for (let number = 0; number < count; number++) {
    // Six of base32's characters, in the order of the numbers.
    const tail = number.toString(8).replace(/./g, (digit) => String.fromCharCode(97 + Number(digit)));
    writeEndedRun(join(runsOf(place), `20260102t030405-${tail.padStart(6, 'a')}`), place.project);
  }
  process.stderr.write(`bench: made ${count} runs\n`);
  return place;
}
