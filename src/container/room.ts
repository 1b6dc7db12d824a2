import { statfsSync } from 'node:fs';
import type { Roots } from '../agent-dir/index.ts';

/** Less than this is no room: a Session's first entries are larger. */
const ENOUGH_BYTES = 64 * 1024;

/** Memory that programs fill: a path, and what makes it larger. */
const TMP = { path: '/tmp', advice: '/tmp (TMP_SIZE= makes it larger)' };

/**
 * The volumes and the memory that are full, in words; undefined when none is. pi, for one, calls a full disk "file
 * already exists", for it tries again to create what it could create but not write (rule 5).
 */
export function fullPlaces(roots: Omit<Roots, 'front'>, tmp = TMP): string | undefined {
  const { shared, domain, sessions, memory, runtime } = roots;
  const places = [
    [shared, 'the shared volume'],
    [domain, 'the domain volume'],
    [sessions, 'the sessions volume'],
    [tmp.path, tmp.advice],
    [memory, memory],
    [runtime, runtime],
  ] as const;
  const full = places.filter(([path]) => isFull(path)).map(([, words]) => words);
  if (full.length === 0) return undefined;
  return `no space left on ${full.join(' and on ')}: what failed may have failed for that`;
}

function isFull(path: string): boolean {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(path);
    // A file system that does not count its files says 0 of 0.
    return bavail * bsize < ENOUGH_BYTES || (files > 0 && ffree === 0);
  } catch {
    return false;
  }
}
