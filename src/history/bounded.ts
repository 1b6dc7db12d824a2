/** Lists and tallies of a report: of a stated size, whatever the volume holds (rule 7). */
import type { Bounded, HistoryProblem, Tally } from './types.ts';

const MOST_ITEMS = 200;

export function boundedList<T>(): Bounded<T> {
  return { items: [], omitted: 0 };
}

export function addTo<T>(list: Bounded<T>, item: T): void {
  if (isFull(list)) list.omitted++;
  else list.items.push(item);
}

/** Planted files by the hundred must not hide that something failed. */
const HARMLESS: ReadonlySet<HistoryProblem['kind']> = new Set(['foreign', 'no-session', 'link', 'special']);

/** As {@link addTo}; in a full list what failed takes the place of what is only no Session. */
export function addProblem(list: Bounded<HistoryProblem>, problem: HistoryProblem): void {
  const isGiving = isFull(list) && !HARMLESS.has(problem.kind);
  const harmless = isGiving ? list.items.findIndex(({ kind }) => HARMLESS.has(kind)) : -1;
  if (harmless === -1) addTo(list, problem);
  else {
    list.items[harmless] = problem;
    list.omitted++;
  }
}

/** What is worth finding out only for what is kept. */
export function isFull(list: Bounded<unknown>): boolean {
  return list.items.length >= MOST_ITEMS;
}

export function emptyTally(): Tally {
  return { count: 0, bytes: 0, oldest: undefined };
}

export function count(tally: Tally, bytes: number, lastChange: Date): void {
  tally.count++;
  tally.bytes += bytes;
  if (tally.oldest === undefined || lastChange < tally.oldest) tally.oldest = lastChange;
}
