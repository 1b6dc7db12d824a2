import { copyFileSync, linkSync, lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { cacheLinks, pathsOf, type Roots, SHARED_HOME_LINKS, signInLinks } from '../../agent-dir/index.ts';
import { hasCode, messageOf } from '../../lib/errors.ts';
import { randomId } from '../../lib/ids.ts';
import { placeLink } from './place-link.ts';
import type { SharedStateResult } from './shared-state.ts';

const DOMAIN_DIRECTORIES = ['state', 'data', 'locks', 'locks/sessions', 'agent', 'cli', 'cli/hermit'];

/**
 * Makes the domain's home: its start-up files from the image where it has none, links into the shared volume by the
 * explicit list, links of the sign-ins, and `~/.pi` (S2, S3). Several sandboxes of the domain may do so at once.
 *
 * @param skeleton the image's folder of start-up files
 */
export function buildHome(roots: Roots, sharedLinks: readonly string[], skeleton: string): SharedStateResult {
  const { home, homeAgent, agent } = pathsOf(roots);
  mkdirSync(`${home}/.pi`, { recursive: true, mode: 0o700 });
  for (const directory of DOMAIN_DIRECTORIES) {
    mkdirSync(`${roots.domain}/${directory}`, { recursive: true, mode: 0o700 });
  }
  // Their links are the shared volume's.
  for (const { target } of cacheLinks(roots)) mkdirSync(target, { recursive: true, mode: 0o700 });
  const result: SharedStateResult = { moved: [], problems: [] };
  const place = (path: string, target: string): void => {
    try {
      const aside = placeLink(path, target);
      if (aside !== undefined) result.moved.push(aside);
    } catch (error) {
      // The user's own `~/.config` may be a file or lead nowhere; the rest of the home is made all the same.
      result.problems.push(messageOf(error));
    }
  };
  copySkeleton(skeleton, home);
  place(`${home}/.pi/domain`, roots.domain);
  place(homeAgent, agent);
  for (const name of [...SHARED_HOME_LINKS, ...sharedLinks]) {
    place(`${home}/${name}`, `${roots.shared}/${name}`);
  }
  for (const { name, target } of signInLinks(roots)) {
    mkdirSync(target, { recursive: true, mode: 0o700 });
    place(`${home}/${name}`, target);
  }
  return result;
}

/** Whole or not at all, and never over what the user has (rule 2). */
function copySkeleton(skeleton: string, home: string): void {
  for (const name of readSkeleton(skeleton)) {
    const path = `${home}/${name}`;
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) continue;
    const fresh = `${home}/.pi-sandbox-tmp-${randomId()}`;
    try {
      copyFileSync(`${skeleton}/${name}`, fresh);
      linkSync(fresh, path);
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
    } finally {
      rmSync(fresh, { force: true });
    }
  }
}

function readSkeleton(skeleton: string): string[] {
  try {
    return readdirSync(skeleton);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}
