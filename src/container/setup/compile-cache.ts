import { lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import type { Roots } from '../../agent-dir/index.ts';
import { hasCode } from '../../lib/errors.ts';

/** How Node names a cache: `<version>-<arch>-<flags>-<uid>`. */
const NAME = /^[\w.-]+-1000$/;

/**
 * Lets a user other than the image's usual one use the compile cache that was made with the image: Node looks for a
 * directory that ends in the user's own id (docker/README.md). A start without it is slower, and no worse.
 */
export function linkCompileCache(roots: Roots, image: string, uid: number): void {
  if (uid === 1000) return;
  const name = readName(`${image}/compile-cache.name`);
  if (name === undefined) return;
  const directory = `${roots.memory}/compile-cache`;
  const link = `${directory}/${name.replace(/1000$/, String(uid))}`;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink() === true) return;
  // This process was itself started with the variable, and so has made an empty one.
  rmSync(link, { recursive: true, force: true });
  symlinkSync(`${image}/compile-cache/${name}`, link);
}

function readName(path: string): string | undefined {
  try {
    const name = readFileSync(path, 'utf8').trim();
    return NAME.test(name) ? name : undefined;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}
