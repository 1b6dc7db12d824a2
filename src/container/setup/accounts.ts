import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { pathsOf, type Roots } from '../../agent-dir/index.ts';

/**
 * Makes any uid the user `pi` (S2): the image's name service reads these two files in the container's memory, since
 * the root file system is read-only. `os.userInfo()`, git and ssh refuse to work for a uid without an entry.
 */
export function writeAccounts(roots: Roots, user: { uid: number; gid: number }): void {
  const { accounts, home } = pathsOf(roots);
  mkdirSync(accounts, { recursive: true });
  const shell = '/bin/bash';
  writeFileSync(`${accounts}/passwd`, `pi:x:${user.uid}:${user.gid}:pi:${home}:${shell}\n`);
  writeFileSync(`${accounts}/group`, `pi:x:${user.gid}:\n`);
  for (const path of [accounts, `${accounts}/passwd`, `${accounts}/group`]) {
    chmodSync(path, path === accounts ? 0o755 : 0o644);
  }
}
