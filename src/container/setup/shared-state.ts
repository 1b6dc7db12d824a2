import { chmodSync, lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  cacheLinks,
  pathsOf,
  type Roots,
  rootEntry,
  SETUP_LOCK,
  SHARED_AGENT_NAMES,
  SHARED_HOME_LINKS,
  signInLinks,
} from '../../agent-dir/index.ts';
import { messageOf } from '../../lib/errors.ts';
import { LockTakenError, takeLock } from '../../lib/kernel-lock.ts';
import { moveAside, placeLink, removeLink } from './place-link.ts';
import { atRealPath, inRealDirectory } from './real-directory.ts';

/** How long a start waits for another domain's start to finish here; after that it goes on without (S3). */
export const SHARED_STATE_WAIT_MS = 5_000;

/** pi reads these files whole; a larger one is no login. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;

export interface SharedStateResult {
  /** What stood where a link belongs, and where it is now. */
  moved: string[];
  /** What could not be made: told, and no reason not to start, since another domain may have caused it. */
  problems: string[];
}

/**
 * Makes what a start needs in the shared volume: the agent directory's real place, the shared folders of the home, and
 * links to what is the domain's own there: sign-ins for programs that go to `/home/pi/…` by absolute path, and caches with
 * a domain's words. All of it under one kernel lock, and the same from every container. Nothing that another domain does
 * here keeps this one from starting (S3).
 */
export async function prepareSharedState(
  roots: Roots,
  sharedLinks: readonly string[],
  waitMs = SHARED_STATE_WAIT_MS,
): Promise<SharedStateResult> {
  const { sharedAgent } = pathsOf(roots);
  const result: SharedStateResult = { moved: [], problems: [] };
  const trying = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      result.problems.push(messageOf(error));
    }
  };
  trying(() => inRealDirectory(roots.shared, sharedAgent, () => undefined));
  const lockPath = rootEntry(sharedAgent, SETUP_LOCK);
  let lock: { release(): void } | undefined;
  try {
    lock = await takeLock(lockPath, { waitMs });
  } catch (error) {
    const reason = error instanceof LockTakenError ? `still taken after ${waitMs} ms` : messageOf(error);
    result.problems.push(`the shared volume was not prepared: ${lockPath}: ${reason}`);
    return result;
  }
  try {
    makeAll(roots, sharedLinks, result, trying);
  } finally {
    lock.release();
  }
  return result;
}

function makeAll(
  roots: Roots,
  sharedLinks: readonly string[],
  result: SharedStateResult,
  trying: (work: () => void) => void,
): void {
  for (const name of [...SHARED_HOME_LINKS, ...sharedLinks]) {
    trying(() => inRealDirectory(roots.shared, `${roots.shared}/${name}`, () => undefined));
  }
  trying(() =>
    inRealDirectory(roots.shared, pathsOf(roots).sharedAgent, (directory) => clearPlaces(directory, result)),
  );
  for (const { name, target } of [...signInLinks(roots), ...cacheLinks(roots)]) {
    const path = `${roots.shared}/${name}`;
    trying(() => {
      const aside = atRealPath(roots.shared, path, (real) => placeLink(real, target));
      if (aside !== undefined) result.moved.push(`${dirname(path)}/${aside.split('/').at(-1)}`);
    });
  }
}

/**
 * What stands in the shared agent directory where files and folders of ours belong, and is something else: a link that
 * another domain planted could make this domain's pi read a file of its own as a login, or write a login over it; a
 * folder, or a file that nobody may read, would keep every pi from starting.
 */
function clearPlaces(directory: string, result: SharedStateResult): void {
  for (const name of SHARED_AGENT_NAMES) {
    const path = `${directory}/${name}`;
    const facts = lstatSync(path, { throwIfNoEntry: false });
    if (facts === undefined) continue;
    const isFile = name.endsWith('.json');
    if (facts.isSymbolicLink()) {
      removeLink(path);
      result.problems.push(`${name} in the shared agent directory was a link and has been removed`);
    } else if (isFile ? !facts.isFile() || facts.size > MAX_FILE_BYTES : !facts.isDirectory()) {
      const aside = moveAside(path)?.split('/').at(-1) ?? 'gone';
      result.problems.push(`${name} in the shared agent directory cannot be used; it is now ${aside}`);
    } else if ((facts.mode & 0o600) !== 0o600) {
      chmodSync(path, isFile ? 0o600 : 0o700);
      result.problems.push(`${name} in the shared agent directory could not be read, and can again`);
    }
  }
}
