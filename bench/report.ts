/** The table for people, and the file for comparing runs. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Row } from './row.ts';
import { median, type Pair, type Summary, summarize, type Verdict, verdictOf } from './statistics.ts';
import type { BenchWorld } from './world.ts';

export interface RowResult extends Summary {
  readonly id: string;
  readonly work: string;
  readonly ours: string;
  readonly baseline: string;
  readonly goal: number | undefined;
  readonly verdict: Verdict | undefined;
  /** Medians in milliseconds: of this machine on this day, to see which side moved. */
  readonly oursMs: number;
  readonly baselineMs: number;
  readonly pairs: readonly Pair[];
}

export function resultOf(row: Row, pairs: readonly Pair[]): RowResult {
  const summary = summarize(pairs);
  return {
    id: row.id,
    work: row.work,
    ours: row.ours.name,
    baseline: row.baseline.name,
    ...summary,
    goal: row.goal,
    verdict: row.goal === undefined ? undefined : verdictOf(summary, row.goal),
    oursMs: median(pairs.map(({ ours }) => ours)),
    baselineMs: median(pairs.map(({ baseline }) => baseline)),
    pairs,
  };
}

export function tableOf(results: readonly RowResult[]): string {
  const rows = [
    ['row', 'work', 'ratio', 'spread', 'goal', 'verdict', 'against'],
    ...results.map(({ id, work, ratio, spread, goal, verdict, baseline }) => [
      id,
      work,
      ratio.toFixed(2),
      spread.toFixed(2),
      goal === undefined ? '' : `<= ${goal.toFixed(2)}`,
      verdict ?? '',
      baseline,
    ]),
  ];
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Writes `bench/results/<date>.json`; the last run of a day stays. */
export async function writeResults(world: BenchWorld, results: readonly RowResult[]): Promise<string> {
  const directory = 'bench/results';
  const now = new Date().toISOString();
  const file = join(directory, `${now.slice(0, 10)}.json`);
  mkdirSync(directory, { recursive: true });
  const engine = (await world.output(world.docker('version', '--format', '{{.Server.Version}}'))).trim();
  const machine = {
    cores: cpus().length,
    memoryBytes: totalmem(),
    kernel: release(),
    engine,
    node: process.versions.node,
  };
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  writeFileSync(file, `${JSON.stringify({ time: now, version, machine, results }, null, 2)}\n`);
  return file;
}
