/**
 * `npm run bench [-- --pairs N] [--only B1,B3] [--keep-image]`: every row against its baseline in the same run, as
 * ratios (docs/measures.md). Exit code 1 when a goal is missed by more than the row's spread.
 */
import { parseArgs } from 'node:util';
import { type RowResult, resultOf, tableOf, writeResults } from '../bench/report.ts';
import { type RowMaker, runPairs } from '../bench/row.ts';
import { devcontainer } from '../bench/rows/devcontainer.ts';
import { help } from '../bench/rows/help.ts';
import { listing, migration } from '../bench/rows/history.ts';
import { listJobs, manyJobs, oneJob, runnerMemory } from '../bench/rows/jobs.ts';
import { listRuns } from '../bench/rows/runs.ts';
import { coldStart, warmStart } from '../bench/rows/start.ts';
import { acquire, prune } from '../bench/rows/work.ts';
import { openWorld } from '../bench/world.ts';

const MAKERS: Record<string, RowMaker> = {
  B1: coldStart,
  B2: devcontainer,
  B3: warmStart,
  B4: help,
  B9: listing,
  B10: migration,
  B11: oneJob,
  B12: manyJobs,
  B13: runnerMemory,
  B14: listJobs,
  B14r: listRuns,
  B15: acquire,
  B16: prune,
};
/** Fewer say little on a machine that does other things too. */
const MIN_PAIRS = 7;

const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '11' },
    only: { type: 'string', default: Object.keys(MAKERS).join(',') },
    'keep-image': { type: 'boolean', default: false },
  },
});
const pairs = Number(values.pairs);
const wanted = values.only.split(',');
const unknown = wanted.find((id) => !Object.hasOwn(MAKERS, id));
if (unknown !== undefined) refuse(`--only ${unknown}: the rows are ${Object.keys(MAKERS).join(', ')}`);
if (!Number.isInteger(pairs) || pairs < MIN_PAIRS)
  refuse(`--pairs ${values.pairs}: a whole number from ${MIN_PAIRS} on`);
if (!process.versions.node.startsWith('24.'))
  refuse(`Node 24 is needed, this is ${process.versions.node}: use npm run bench`);

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => interrupted.abort(new Error(`ended by ${signal}`)));
}
try {
  process.exitCode = await measure();
} catch (error) {
  const failure = interrupted.signal.aborted ? interrupted.signal.reason : error;
  process.stderr.write(`bench: ${failure instanceof Error ? failure.message : String(failure)}\n`);
  process.exitCode = interrupted.signal.aborted ? 130 : 1;
}

async function measure(): Promise<number> {
  process.stderr.write('bench: building the image\n');
  const world = await openWorld({ signal: interrupted.signal, keepImage: values['keep-image'] });
  const results: RowResult[] = [];
  try {
    for (const id of wanted) {
      for (const row of (await MAKERS[id]?.(world)) ?? []) {
        process.stderr.write(`bench: ${row.id} ${row.ours.name} / ${row.baseline.name} `);
        const measured = await runPairs(row, pairs, () => process.stderr.write('.'));
        process.stderr.write('\n');
        results.push(resultOf(row, measured));
      }
    }
  } finally {
    // What was measured before a failure is worth seeing too.
    if (results.length > 0) process.stdout.write(`\n${tableOf(results)}\n`);
    try {
      if (!interrupted.signal.aborted)
        process.stdout.write(`\nwritten to ${await writeResults(world, results)}\n`);
    } finally {
      await world.close();
    }
  }
  return results.some(({ verdict }) => verdict === 'missed') ? 1 : 0;
}

function refuse(text: string): never {
  process.stderr.write(`bench: ${text}\n`);
  process.exit(2);
}
