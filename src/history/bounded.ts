/** Lists and tallies of a report: of a stated size, whatever the volume holds (rule 7). */
import { addOver, type Bounded } from '../lib/bounded-list.ts';
import type { HistoryProblem, Tally } from './types.ts';

export { addTo, boundedList, isFull } from '../lib/bounded-list.ts';

/** Planted files by the hundred must not hide that something failed. */
const HARMLESS: ReadonlySet<HistoryProblem['kind']> = new Set(['foreign', 'no-session', 'link', 'special']);

/** In a full list what failed takes the place of what is only no Session. */
export function addProblem(list: Bounded<HistoryProblem>, problem: HistoryProblem): void {
  addOver(list, problem, ({ kind }) => HARMLESS.has(kind));
}

export function emptyTally(): Tally {
  return { count: 0, bytes: 0, oldest: undefined };
}

export function count(tally: Tally, bytes: number, lastChange: Date): void {
  tally.count++;
  tally.bytes += bytes;
  if (tally.oldest === undefined || lastChange < tally.oldest) tally.oldest = lastChange;
}
