/**
 * A session can put a link into its project at any moment. A path of the user's that leads into the project means what is
 * in there: where such a link would take it out again, a copy is refused (rule 8). Links elsewhere are the user's own.
 */
import { realpathSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import type { DirectoryHandle } from '../../../lib/directory-handle.ts';
import { hasCode, UsageError } from '../../../lib/errors.ts';

/**
 * @param path as the user named it, absolute, with the links in it
 * @param opened what was reached by way of it: only an open directory stays what it was looked at
 * @param name of the entry in `opened` that was reached, where it is not the directory itself
 * @throws UsageError
 */
export function requireNoWayOut(project: string, path: string, opened: DirectoryHandle, name = ''): void {
  const top = realPathOf(project);
  if (top === undefined || !leadsInto(path, top)) return;
  const directory = realPathOf(opened.at('.'));
  const reached = join(directory ?? opened.path, name);
  if (directory !== undefined && isWithin(reached, top)) return;
  throw new UsageError(`${path} is reached by a link in the project that leads out of it, to ${reached}`, {
    hint: 'a session may have put it there: if you mean that place, name it itself',
  });
}

function leadsInto(path: string, top: string): boolean {
  for (let above = path; ; above = dirname(above)) {
    const real = realPathOf(above);
    if (real !== undefined && isWithin(real, top)) return true;
    if (above === dirname(above)) return false;
  }
}

function isWithin(path: string, top: string): boolean {
  return path === top || path.startsWith(top === sep ? sep : `${top}${sep}`);
}

function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES')) return undefined;
    throw error;
  }
}
