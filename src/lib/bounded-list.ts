/** Lists of a report: of a stated size, whatever a volume holds (rule 7). */

/** Keeps its first entries and counts the rest. */
export interface Bounded<T> {
  readonly items: T[];
  /** How many more there were. */
  omitted: number;
}

const MOST_ITEMS = 200;

export function boundedList<T>(): Bounded<T> {
  return { items: [], omitted: 0 };
}

export function addTo<T>(list: Bounded<T>, item: T): void {
  if (isFull(list)) list.omitted++;
  else list.items.push(item);
}

/** What is worth finding out only for what is kept. */
export function isFull(list: Bounded<unknown>): boolean {
  return list.items.length >= MOST_ITEMS;
}

/** As {@link addTo}; in a full list something minor gives its place to what is not. */
export function addOver<T>(list: Bounded<T>, item: T, isMinor: (item: T) => boolean): void {
  const minor = isFull(list) && !isMinor(item) ? list.items.findIndex(isMinor) : -1;
  if (minor === -1) addTo(list, item);
  else {
    list.items[minor] = item;
    list.omitted++;
  }
}
