/** What became of Sessions that arrived; a helper prints it as JSON, so it is one schema (S15). */
import * as z from 'zod/mini';

/** Named entries of one list; the others are counted (rule 7). */
const MAX_NAMED = 50;
const MAX_TEXT = 1_000;

const count = z.int().check(z.minimum(0));
const tally = z.object({ count, bytes: count });

export const ArrivalReport = z.object({
  added: tally,
  /** The same bytes were there already, also as the beginning of a Session that has gone on. */
  there: count,
  /** Of `added`: another Session had the name, so that both are there now. */
  renamed: z.object({ items: z.array(z.object({ file: z.string(), name: z.string() })), omitted: count }),
  /** Did not come over. */
  failed: z.object({ items: z.array(z.object({ file: z.string(), reason: z.string() })), omitted: count }),
});
export type ArrivalReport = z.infer<typeof ArrivalReport>;

export function emptyArrival(): ArrivalReport {
  return {
    added: { count: 0, bytes: 0 },
    there: 0,
    renamed: { items: [], omitted: 0 },
    failed: { items: [], omitted: 0 },
  };
}

/** Keeps the first entries and counts the rest. */
export function name<T extends Record<string, string>>(
  list: { items: T[]; omitted: number },
  entry: T,
): void {
  if (list.items.length >= MAX_NAMED) {
    list.omitted += 1;
    return;
  }
  const cut = Object.entries(entry).map(([key, text]) => [key, text.slice(0, MAX_TEXT)]);
  list.items.push({ ...entry, ...Object.fromEntries(cut) });
}
