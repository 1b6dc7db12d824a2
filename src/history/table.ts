/** Which domain a recorded working directory belongs to: decided on the host, carried as data to where the files are. */
import { posix } from 'node:path';
import type { DomainTable } from '../wire/index.ts';

/** Longer than any path a system takes, so that a header cannot make the search slow (rule 7). */
const MAX_CWD = 65_536;

/**
 * The domain of the longest path that `cwd` is or lies in, else the fallback (S7, S12). By the words of the path alone:
 * what is no more there cannot be looked at, and a path that a sandbox wrote is never looked up on the host.
 *
 * @returns undefined when it belongs to no domain, also for a path that is not absolute
 */
export function domainOfCwd(table: DomainTable, cwd: string | undefined): string | undefined {
  if (cwd === undefined || !cwd.startsWith('/') || cwd.includes('\0') || cwd.length > MAX_CWD)
    return undefined;
  const directory = posix.resolve(cwd);
  let longest: DomainTable['rules'][number] | undefined;
  for (const candidate of table.rules) {
    if (longest !== undefined && candidate.path.length <= longest.path.length) continue;
    if (isBelow(directory, candidate.path)) longest = candidate;
  }
  return (longest === undefined ? table.fallback : longest.domain) ?? undefined;
}

function isBelow(path: string, parent: string): boolean {
  return path === parent || path.startsWith(parent.endsWith('/') ? parent : `${parent}/`);
}
