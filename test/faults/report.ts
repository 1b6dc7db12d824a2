import type { Tally } from './run-case.ts';

/** What a run found, as a table: the goals of the columns of `kinds` and of what was lost are zeros. */
export function tableOf(tallies: readonly Tally[], kinds: readonly string[]): string {
  const header = ['fault', 'tried', 'survived', 'lost', ...kinds, 'slowest'];
  const sum = (of: (tally: Tally) => number): number =>
    tallies.reduce((total, tally) => total + of(tally), 0);
  const rows = tallies.map((tally) => [
    tally.name,
    ...[tally.tried, tally.survived, tally.lost, ...kinds.map((kind) => tally.leaked[kind] ?? 0)].map(String),
    `${(tally.slowestMs / 1000).toFixed(1)} s`,
  ]);
  const total = [
    'all',
    ...[
      sum(({ tried }) => tried),
      sum(({ survived }) => survived),
      sum(({ lost }) => lost),
      ...kinds.map((kind) => sum(({ leaked }) => leaked[kind] ?? 0)),
    ].map(String),
    `${(Math.max(0, ...tallies.map(({ slowestMs }) => slowestMs)) / 1000).toFixed(1)} s`,
  ];
  const lines = [header, ...rows, total];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  '),
    )
    .join('\n');
}
