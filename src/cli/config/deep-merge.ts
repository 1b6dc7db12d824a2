/** Deep merge that remembers where each value came from (S8). */
import { isObject, type Json, type JsonObject, ownValue } from './json.ts';

/** Keys on the way to a value. */
export type KeyPath = readonly string[];

export interface Origin {
  readonly path: KeyPath;
  /** The file that set it last. */
  readonly file: string;
}

/** A merged object with the origin of each of its leaves; arrays and empty objects are leaves. */
export interface Traced {
  readonly value: JsonObject;
  readonly origins: readonly Origin[];
}

export const NOTHING: Traced = { value: {}, origins: [] };

/** `later` from `file` over `earlier`: objects key by key, everything else replaced. */
export function mergeOver(earlier: Traced, later: JsonObject, file: string): Traced {
  const set: Origin[] = [];
  const value = mergeObjects(earlier.value, later, [], set, file);
  const kept = earlier.origins.filter(({ path }) => !set.some((origin) => overrides(origin.path, path)));
  return { value, origins: [...kept, ...set] };
}

function mergeObjects(
  earlier: JsonObject,
  later: JsonObject,
  path: KeyPath,
  set: Origin[],
  file: string,
): JsonObject {
  const result = new Map<string, Json>(Object.entries(earlier));
  for (const [key, over] of Object.entries(later)) {
    const here = [...path, key];
    const under = ownValue(earlier, key);
    if (isObject(over) && Object.keys(over).length > 0) {
      result.set(key, mergeObjects(isObject(under) ? under : {}, over, here, set, file));
    } else if (!isObject(over) || !isObject(under)) {
      result.set(key, over);
      set.push({ path: here, file });
    }
  }
  return Object.fromEntries(result);
}

/** True when setting `path` replaces what stood at, below or above `other`. */
function overrides(path: KeyPath, other: KeyPath): boolean {
  const shorter = Math.min(path.length, other.length);
  return path.slice(0, shorter).every((key, index) => key === other[index]);
}

/** `a.b."c d"`: for people. */
export function showPath(path: KeyPath): string {
  return path.map((key) => (/^[\w-]+$/.test(key) ? key : JSON.stringify(key))).join('.');
}
