import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { hasCode } from '../../lib/errors.ts';

/**
 * Makes `path` a link to `target`, whatever stands there: a right link stays, a wrong one is replaced, and a file or
 * folder is moved to `<path>.shared` (`.shared-2`, … if taken), never deleted and never copied into a domain (S3).
 *
 * @returns where what stood there went, if anything was moved.
 */
export function placeLink(path: string, target: string): string | undefined {
  mkdirSync(dirname(path), { recursive: true });
  for (let attempt = 0; ; attempt++) {
    try {
      symlinkSync(target, path);
      return undefined;
    } catch (error) {
      if (!hasCode(error, 'EEXIST') || attempt > 100) throw error;
    }
    const moved = clearPlace(path, target);
    if (moved.state === 'right') return undefined;
    if (moved.aside !== undefined) {
      symlinkSync(target, path);
      return moved.aside;
    }
  }
}

function clearPlace(path: string, target: string): { state: 'right' | 'free'; aside?: string } {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return { state: 'free' };
  if (stat.isSymbolicLink()) {
    if (readlinkSync(path) === target) return { state: 'right' };
    unlinkSync(path);
    return { state: 'free' };
  }
  if (stat.isDirectory() && readdirSync(path).length === 0) {
    rmdirSync(path);
    return { state: 'free' };
  }
  return { state: 'free', aside: moveAside(path) };
}

function moveAside(path: string): string {
  for (let n = 1; ; n++) {
    const aside = n === 1 ? `${path}.shared` : `${path}.shared-${n}`;
    if (lstatSync(aside, { throwIfNoEntry: false }) !== undefined) continue;
    renameSync(path, aside);
    return aside;
  }
}
