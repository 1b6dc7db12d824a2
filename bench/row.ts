/** What a row is, and how its pairs are run. */

import type { Pair } from './statistics.ts';
import type { BenchWorld } from './world.ts';

/** One side of a comparison: the measured work, and what undoes it, which is not measured. */
export interface Side {
  readonly name: string;
  /** @returns milliseconds; KiB where the row says so */
  measure(): Promise<number>;
  reset?(): Promise<void>;
}

export interface Row {
  readonly id: string;
  readonly work: string;
  /** The ratio that ours over baseline should not exceed; a row without one is for information. */
  readonly goal?: number;
  /** How many pairs are run for each one asked for: short work needs more of them. */
  readonly pairsFactor?: number;
  readonly ours: Side;
  readonly baseline: Side;
}

/** Makes the rows of one topic; what it sets up is removed with the world. */
export type RowMaker = (world: BenchWorld) => Promise<readonly Row[]>;

/** One run of each side that does not count, then pair after pair: ours, baseline, ours, baseline. */
export async function runPairs(row: Row, pairs: number, onPair: (pair: Pair) => void): Promise<Pair[]> {
  const results: Pair[] = [];
  await once(row.ours);
  await once(row.baseline);
  for (let count = 0; count < pairs * (row.pairsFactor ?? 1); count++) {
    const pair = { ours: await once(row.ours), baseline: await once(row.baseline) };
    results.push(pair);
    onPair(pair);
  }
  return results;
}

async function once(side: Side): Promise<number> {
  const milliseconds = await side.measure();
  await side.reset?.();
  return milliseconds;
}
