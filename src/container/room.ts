import { statfsSync } from 'node:fs';
import type { Roots } from '../agent-dir/index.ts';

/** Less than this is no room: a Session's first entries are larger. */
const ENOUGH_BYTES = 64 * 1024;

/**
 * The volumes that are full, in words; undefined when none is. pi, for one, calls a full disk "file already exists",
 * for it tries again to create what it could create but not write (rule 5).
 */
export function fullVolumes(roots: Pick<Roots, 'shared' | 'domain' | 'sessions'>): string | undefined {
  const { shared, domain, sessions } = roots;
  const full = Object.entries({ shared, domain, sessions })
    .filter(([, path]) => isFull(path))
    .map(([name]) => name);
  if (full.length === 0) return undefined;
  return `no space left on the ${full.join(' and the ')} volume: what failed may have failed for that`;
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
