/** Two JSON objects of pi's, entry by entry: providers in `auth.json`, directories in `trust.json` (S15). */

export interface MergedEntries {
  /** Undefined when there is nothing to write. */
  readonly text: string | undefined;
  /** Entries that both have, with other values. */
  readonly differing: string[];
  /** `all`: nothing of what was there is left over. */
  readonly added: 'all' | 'some';
}

/**
 * What is there, with the entries of `after` that it lacks; with `replace` those of `after` win. An object without
 * entries, as pi makes it, is nothing. What cannot be read is never written over, but with `replace`.
 */
export function mergeEntries(before: string, after: string, replace: boolean): MergedEntries {
  const there = entriesOf(before);
  const coming = entriesOf(after);
  if (there?.size === 0 || (there === undefined && replace))
    return { text: after, differing: [], added: 'all' };
  if (there === undefined || coming === undefined)
    return { text: undefined, differing: ['(all of it: it cannot be read)'], added: 'some' };
  const merged = new Map(there);
  const differing: string[] = [];
  let changed = false;
  for (const [key, value] of coming) {
    const known = there.has(key);
    if (known && JSON.stringify(there.get(key)) === JSON.stringify(value)) continue;
    if (known) differing.push(key);
    if (known && !replace) continue;
    merged.set(key, value);
    changed = true;
  }
  const text = changed ? `${JSON.stringify(Object.fromEntries(merged), null, 2)}\n` : undefined;
  return { text, differing, added: 'some' };
}

function entriesOf(text: string): Map<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    return new Map(Object.entries(value));
  } catch {
    return undefined;
  }
}
