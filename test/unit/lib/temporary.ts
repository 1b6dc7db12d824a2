import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A directory of this test's own. */
export function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'pi-sandbox-lib-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** A file system of so many KiB, or the reason why there is none here. */
export function smallDisk(kibibytes: number): { path: string } | { skip: string } {
  if (process.getuid?.() !== 0) return { skip: 'a small file system can only be mounted by root' };
  const path = temporaryDirectory();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kibibytes}k`, 'tmpfs', path], { stdio: 'pipe' });
  } catch (error) {
    return { skip: `a small file system cannot be mounted here: ${String(error)}` };
  }
  onTestFinished(() => {
    execFileSync('umount', [path]);
  });
  return { path };
}

/** Small seeded generator (mulberry32), 0 <= x < 1: the same faults in every run. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
