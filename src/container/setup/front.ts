import { frontLinks, type Roots } from '../../agent-dir/index.ts';
import { messageOf } from '../../lib/errors.ts';
import { placeLink } from './place-link.ts';
import type { SharedStateResult } from './shared-state.ts';

/**
 * Fills `/home/pi` with links, for programs that go there by absolute path (S2, S3). It is this container's memory and
 * not the shared volume, although the volume has the same paths: below a folder of the shared volume another domain
 * could move the mounts of this one out of their places (docs/adr/0007).
 */
export function buildFront(roots: Roots, sharedLinks: readonly string[]): SharedStateResult {
  const result: SharedStateResult = { moved: [], problems: [] };
  for (const { name, target } of frontLinks(roots, sharedLinks)) {
    try {
      placeLink(`${roots.front}/${name}`, target);
    } catch (error) {
      result.problems.push(messageOf(error));
    }
  }
  return result;
}
