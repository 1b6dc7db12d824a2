import { constants, copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { SHARED_HOME_LINKS, pathsOf, signInLinks, type Roots } from '../../agent-dir/index.ts';
import { hasCode } from '../../lib/errors.ts';
import { placeLink } from './place-link.ts';

/** Start-up files of a new home, from the image (S2). */
const SKELETON = '/opt/pi-sandbox/skel';

/**
 * Makes the domain's home: its start-up files from the image where it has none, links into the shared volume by the
 * explicit list, links of the sign-ins, and `~/.pi` (S2, S3).
 *
 * @returns what had to be moved aside for a link, for the log.
 */
export function buildHome(roots: Roots, sharedLinks: readonly string[]): string[] {
  const { home, agent } = pathsOf(roots);
  mkdirSync(`${home}/.pi`, { recursive: true, mode: 0o700 });
  for (const directory of ['state', 'data', 'locks', 'locks/sessions', 'agent', 'cli', 'cli/hermit']) {
    mkdirSync(`${roots.domain}/${directory}`, { recursive: true, mode: 0o700 });
  }
  copySkeleton(home);
  const moved = [placeLink(`${home}/.pi/domain`, roots.domain), placeLink(`${home}/.pi/agent`, agent)];
  for (const name of [...SHARED_HOME_LINKS, ...sharedLinks]) {
    moved.push(placeLink(`${home}/${name}`, `${roots.shared}/${name}`));
  }
  for (const { name, target } of signInLinks(roots)) {
    mkdirSync(target, { recursive: true, mode: 0o700 });
    moved.push(placeLink(`${home}/${name}`, target));
  }
  return moved.filter((path) => path !== undefined);
}

function copySkeleton(home: string): void {
  for (const name of readSkeleton()) {
    try {
      copyFileSync(`${SKELETON}/${name}`, `${home}/${name}`, constants.COPYFILE_EXCL);
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
    }
  }
}

function readSkeleton(): string[] {
  try {
    return readdirSync(SKELETON);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}
