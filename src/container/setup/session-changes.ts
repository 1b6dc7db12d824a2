import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { MERGED_FILES, type Roots } from '../../agent-dir/index.ts';
import type { PublishedMerge } from './merge.ts';

/** Keys that pi writes by itself at every start: no change a person made. */
const WRITTEN_BY_PI = new Set(['lastChangelogVersion', 'deviceId', 'trackingId']);

/** Which keys of a merged file a session changed; `keys` is empty for a file that is not JSON. */
export interface SessionChange {
  file: string;
  keys: string[];
}

/**
 * What sessions changed in the merged configuration since it was published. Such changes go with the container, so
 * the user is told which they are (S8).
 */
export function sessionChanges(roots: Roots, merge: PublishedMerge): SessionChange[] {
  return MERGED_FILES.flatMap((file) => {
    const before = read(`${merge.pristine}/${file}`);
    const after = read(`${roots.memory}/${file}`);
    if (before === after) return [];
    if (!file.endsWith('.json')) return [{ file, keys: [] }];
    const keys = changedKeys(parse(before), parse(after));
    return keys.length === 0 ? [] : [{ file, keys }];
  });
}

/** One line for the user, or undefined when nothing changed. */
export function describeChanges(changes: readonly SessionChange[]): string | undefined {
  if (changes.length === 0) return undefined;
  const parts = changes.map(({ file, keys }) => (keys.length === 0 ? file : `${file} (${keys.join(', ')})`));
  return `changed in the sandbox and gone with it: ${parts.join('; ')}`;
}

function changedKeys(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].filter((key) => !WRITTEN_BY_PI.has(key) && !isDeepStrictEqual(before[key], after[key])).sort();
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function parse(text: string | undefined): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
