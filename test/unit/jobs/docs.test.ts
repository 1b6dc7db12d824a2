/** docs/jobs.md says what the code does: its tables are driven through the table of a run's life. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  advance,
  BEGUN,
  EXIT_CODES,
  isFinal,
  type RunEvent,
  type RunState,
} from '../../../src/jobs/index.ts';

const docs = readFileSync(new URL('../../../docs/jobs.md', import.meta.url), 'utf8');

/** The rows of the table whose head begins so, each as its cells. */
function rows(head: string): string[][] {
  const lines = docs.slice(docs.indexOf(`| ${head}`)).split('\n');
  const end = lines.findIndex((line) => !line.startsWith('|'));
  return lines.slice(2, end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const word = (cell: string | undefined): string => /`([a-z-]+)`/.exec(cell ?? '')?.[1] ?? '';

function event(name: string): RunEvent {
  switch (name) {
    case 'prompted':
    case 'asked':
    case 'answered':
    case 'abort-wanted':
    case 'kill-wanted':
    case 'time-over':
      return { type: name };
    case 'given-up':
    case 'gone':
      return { type: name, reason: name };
    default:
      throw new Error(`docs/jobs.md has an event "${name}"`);
  }
}

const live = (status: string): RunState => {
  const running = advance(BEGUN, { type: 'prompted' });
  if (status === 'starting') return BEGUN;
  return status === 'running' ? running : advance(running, { type: 'asked' });
};

describe('docs/jobs.md', () => {
  it('J3: has every status with its exit code', () => {
    const codes = rows('status ').map(([status, , code]) => [word(status), code]);
    const known = Object.entries(EXIT_CODES).map(([status, code]) => [
      status,
      isFinal(status) || status === 'died' ? String(code) : '',
    ]);
    expect(new Map(codes.map(([a, b]) => [a, b]))).toEqual(new Map(known.map(([a, b]) => [a, b])));
  });

  it('J3: says what leads where while a run goes on', () => {
    const table = rows('event ');
    expect(table).toHaveLength(4);
    for (const [events = '', ...after] of table) {
      const [names = ''] = events.split(':');
      for (const [, name = ''] of names.matchAll(/`([a-z-]+)`/g)) {
        for (const [index, from] of ['starting', 'running', 'waiting'].entries()) {
          const { status } = advance(live(from), event(name));
          expect(status, `${name} in ${from}`).toBe(word(after[index]));
        }
      }
    }
  });

  it('J3: says what an end is called, whatever was wanted before', () => {
    const wishes = ['', 'abort-wanted', 'kill-wanted', 'time-over', 'given-up'];
    const table = rows('what happens');
    expect(table).toHaveLength(4);
    for (const [happens = '', ...ends] of table) {
      const outcome = (['done', 'failed', 'aborted'] as const).find((known) => happens.endsWith(known));
      const last: RunEvent =
        outcome === undefined ? event(word(happens)) : { type: 'settled', outcome, reason: outcome };
      for (const [index, wish] of wishes.entries()) {
        const before = wish === '' ? live('running') : advance(live('running'), event(wish));
        expect(advance(before, last), `${happens} after ${wish}`).toMatchObject({
          live: false,
          status: word(ends[index]),
        });
      }
    }
  });
});
