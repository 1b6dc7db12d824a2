import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** So many are looked at in one project, on the way to them so many folders (rule 7). */
const MAX_SUBMODULES = 50;
const MAX_FOLDERS = 500;

/**
 * The git directories of submodules below `.git/modules`, at any depth: their names may hold slashes, and they may have
 * submodules themselves. `all` is false when there are more. No link is followed (rule 8).
 */
export async function submoduleDirectories(
  modules: string,
): Promise<{ directories: string[]; all: boolean }> {
  const directories: string[] = [];
  const waiting = [modules];
  let folders = 0;
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    if (folders++ >= MAX_FOLDERS || directories.length >= MAX_SUBMODULES) return { directories, all: false };
    const inside: Dirent[] = await readdir(next, { withFileTypes: true }).catch(() => []);
    const isGit = inside.some(({ name }) => name === 'HEAD' || name === 'config' || name === 'hooks');
    if (isGit && next !== modules) directories.push(next);
    const below = inside.filter((entry) => entry.isDirectory() && (!isGit || entry.name === 'modules'));
    waiting.push(...below.map(({ name }) => join(next, name)).sort());
  }
  return { directories, all: true };
}
