import { lstatSync, mkdirSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { SHARED_HOME_LINKS, pathsOf, signInLinks, type Roots } from '../../agent-dir/index.ts';
import { takeLock } from '../../lib/kernel-lock.ts';
import { placeLink } from './place-link.ts';

/** How long a start waits for another domain's start to finish here; after that it goes on without (S3). */
const WAIT_MS = 5_000;

export interface SharedStateResult {
  moved: string[];
  /** True when the lock could not be had in time and nothing was made: an earlier start made it, or a later will. */
  skipped: boolean;
}

/**
 * Makes what a start needs in the shared volume: the agent directory's real place, the shared folders of the home,
 * and the sign-in links for programs that go to `/home/pi/…` by absolute path. All of it under one kernel lock, so
 * that two first starts cannot move the same folder aside twice (S3).
 */
export async function prepareSharedState(roots: Roots, sharedLinks: readonly string[]): Promise<SharedStateResult> {
  const { sharedAgent } = pathsOf(roots);
  mkdirSync(sharedAgent, { recursive: true, mode: 0o700 });
  const lock = await takeLock(`${sharedAgent}/.setup.lock`, { waitMs: WAIT_MS });
  if (lock === undefined) return { moved: [], skipped: true };
  try {
    for (const name of [...SHARED_HOME_LINKS, ...sharedLinks]) {
      makeRealDirectory(roots.shared, `${roots.shared}/${name}`);
    }
    const moved = signInLinks(roots).map(({ name, target }) => {
      const path = `${roots.shared}/${name}`;
      makeRealDirectory(roots.shared, dirname(path));
      return placeLink(path, target);
    });
    return { moved: moved.filter((path) => path !== undefined), skipped: false };
  } finally {
    lock.release();
  }
}

/** Another domain writes here too: a link planted where a folder belongs must not lead this domain's files astray. */
function makeRealDirectory(root: string, path: string): void {
  if (path === root) return;
  makeRealDirectory(root, dirname(path));
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) unlinkSync(path);
  mkdirSync(path, { recursive: true, mode: 0o700 });
}
