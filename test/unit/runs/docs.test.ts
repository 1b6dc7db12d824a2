/** docs/runs.md says what the code does: its tables are held equal to it. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { addRunVerbs } from '../../../src/agent/runs/verbs.ts';
import {
  isFinalRun,
  KEPT_REASONS,
  LIMITS,
  OWNER_CLASSES,
  RUN_ERROR_CODES,
  RUN_STATUSES,
  stepStatusOf,
} from '../../../src/runs/index.ts';

const docs = readFileSync(new URL('../../../docs/runs.md', import.meta.url), 'utf8');

/** The rows of the table whose head begins so, each as its cells. */
function rows(head: string): string[][] {
  const start = docs.indexOf(`| ${head} |`);
  if (start < 0) throw new Error(`docs/runs.md has no table "${head}"`);
  const lines = docs.slice(start).split('\n');
  return lines
    .slice(
      2,
      lines.findIndex((line) => !line.startsWith('|')),
    )
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

const words = (cell = ''): string[] => [...cell.matchAll(/`([a-z-]+)`/g)].flatMap(([, word = '']) => word);
const firstCells = (head: string): string[] => rows(head).flatMap(([cell]) => words(cell));

describe('docs/runs.md', () => {
  it('R3: has every limit', () => {
    const numbers = rows('limit').flatMap(([, usual = '', most = '']) => [usual, most]);
    const found = numbers.filter((cell) => cell !== '').map((cell) => Number(cell.replaceAll(',', '')));
    // The time of a run is its default and its most.
    const known = [...Object.values(LIMITS), LIMITS.runSeconds];
    const sorted = (list: readonly number[]): number[] => [...list].sort((a, b) => a - b);
    expect(sorted(found)).toEqual(sorted(known));
  });

  it('R3: has every status of a run, and says which are final', () => {
    const found = rows('status').map(([status, , final]) => [...words(status), final === 'yes']);
    const known = RUN_STATUSES.map((status) => [status, isFinalRun(status)]);
    expect(new Map(found.map(([a, b]) => [a, b]))).toEqual(new Map(known.map(([a, b]) => [a, b])));
  });

  it('R3: says what the end of a job is for its step', () => {
    const ends = ['done', 'timed-out', 'aborted', 'killed', 'died', 'failed'] as const;
    expect(rows('its job').map((row) => row.map((cell) => words(cell)[0]))).toEqual(
      ends.map((end) => [end, stepStatusOf(end, false), stepStatusOf(end, true)]),
    );
  });

  it('R6, R8, R9: has every owner class, refusal, and reason to stay', () => {
    expect(firstCells('`ownerClass`')).toEqual([...OWNER_CLASSES]);
    expect(new Set(firstCells('code'))).toEqual(new Set(RUN_ERROR_CODES));
    expect(firstCells('kept because')).toEqual([...KEPT_REASONS]);
  });

  it('R4: has every verb', () => {
    const program = new Command();
    addRunVerbs(program);
    const verbs = program.commands[0]?.commands.map((verb) => verb.name()) ?? [];
    const listed = rows('command').map(([cell = '']) => /`([a-z-]+)/.exec(cell)?.[1]);
    expect(new Set(listed)).toEqual(new Set(verbs));
  });
});
