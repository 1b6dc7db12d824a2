/** Host paths as configuration names them: `~`, symlinks, and directories that do not exist yet (S7). */
import { realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import * as z from 'zod/mini';
import { hasCode, OperationError } from '../../lib/errors.ts';

export const CanonicalPath = z
  .string()
  .check(z.regex(/^\/[^\0\n\r]*$/))
  .brand<'CanonicalPath'>();
/** Absolute, without symlinks, `.` and `..`, without NUL or line breaks. */
export type CanonicalPath = z.infer<typeof CanonicalPath>;

/** `~` and `~/x` expanded, a relative path taken from `base`. */
export function expandPath(path: string, home: string, base: string): string {
  if (path === '~') return resolve(home);
  return path.startsWith('~/') ? resolve(home, path.slice(2)) : resolve(base, path);
}

/**
 * The canonical form of an absolute path. Of one that does not exist yet, the nearest existing parent is made
 * canonical and the rest kept, so that a domain may name a directory before it is cloned.
 *
 * @throws Node's own error for anything but a missing path (a symlink loop, no permission).
 */
export async function canonicalPath(path: string): Promise<CanonicalPath> {
  const missing: string[] = [];
  for (let current = resolve(path); ; current = dirname(current)) {
    try {
      return spoken(join(await realpath(current), ...missing));
    } catch (error) {
      if (!hasCode(error, 'ENOENT', 'ENOTDIR') || current === dirname(current)) throw error;
      missing.unshift(basename(current));
    }
  }
}

function spoken(path: string): CanonicalPath {
  const { data } = CanonicalPath.safeParse(path);
  if (data === undefined) throw new OperationError('the path contains a line break');
  return data;
}

/** True when `path` is `parent` or lies below it. Both canonical. */
export function isWithin(path: string, parent: string): boolean {
  return path === parent || path.startsWith(parent.endsWith('/') ? parent : `${parent}/`);
}
