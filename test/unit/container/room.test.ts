import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { fullPlaces } from '../../../src/container/room.ts';
import { makeRoots, temporary } from './sandbox.ts';

it('S17: what is full is named, volumes and memory alike', ({ skip }) => {
  const roots = makeRoots();
  const tmp = { path: `${temporary()}/tmp`, advice: '/tmp (TMP_SIZE= makes it larger)' };
  mkdirSync(tmp.path);
  expect(fullPlaces(roots, tmp)).toBeUndefined();
  for (const path of [roots.sessions, roots.memory, tmp.path]) {
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', path], { stdio: 'ignore' });
    } catch {
      return skip('mounting needs root');
    }
    onTestFinished(() => void execFileSync('umount', [path]));
    writeFileSync(`${path}/filler`, Buffer.alloc(16 * 1024));
  }
  expect(fullPlaces(roots, tmp)).toBe(
    `no space left on the sessions volume and on /tmp (TMP_SIZE= makes it larger) and on ${roots.memory}: what failed may have failed for that`,
  );
});
