import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { agentLinks, pathsOf, type Link, type Roots } from '../../agent-dir/index.ts';

/**
 * Builds pi's agent directory in the container's memory: links only, made once when the container starts. What a
 * link to a directory points at is made too, since a program's `mkdir -p` fails on a link to nothing.
 */
export function buildAgentDirectory(roots: Roots, options: { privatePackages: boolean }): Link[] {
  const { agent } = pathsOf(roots);
  mkdirSync(agent, { recursive: true, mode: 0o700 });
  const links = agentLinks(roots, options);
  for (const link of links) {
    if (link.behind === 'directory' && !existsSync(link.target)) {
      mkdirSync(link.target, { recursive: true, mode: 0o700 });
    }
    symlinkSync(link.target, `${agent}/${link.name}`);
  }
  return links;
}
