import { existsSync, mkdirSync } from 'node:fs';
import { agentLinks, type Link, pathsOf, type Roots, rootEntry } from '../../agent-dir/index.ts';
import { messageOf } from '../../lib/errors.ts';
import { otherLinks } from './other-files.ts';
import { placeLink } from './place-link.ts';

/**
 * Builds pi's agent directory in the container's memory: links only, made once when the container starts. What a
 * link to a directory points at is made too, since a program's `mkdir -p` fails on a link to nothing.
 *
 * @param problem told what stands behind a link and is no directory; pi then reports it better than we can
 */
export function buildAgentDirectory(
  roots: Roots,
  options: { privatePackages: boolean },
  problem: (text: string) => void,
): Link[] {
  const { agent } = pathsOf(roots);
  mkdirSync(agent, { recursive: true, mode: 0o700 });
  const own = agentLinks(roots, options);
  const links = [...own, ...otherLinks(roots, own)];
  for (const link of links) {
    if (link.behind === 'directory' && !existsSync(link.target)) {
      try {
        mkdirSync(link.target, { recursive: true, mode: 0o700 });
      } catch (error) {
        problem(messageOf(error));
      }
    }
    placeLink(rootEntry(agent, link.name), link.target);
  }
  return links;
}
