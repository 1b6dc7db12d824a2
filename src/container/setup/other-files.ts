import { constants, copyFileSync, cpSync, lstatSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { type Link, pathsOf, type Roots, rootEntry, TRUST_FILE } from '../../agent-dir/index.ts';
import { messageOf } from '../../lib/errors.ts';

/** pi's lock directories, and what the keeper puts down for a moment. */
const PASSING = /\.lock$|^\..*\.(link|taken|new)$/;
/** More than this is not looked at (rule 7). */
const MAX_OTHERS = 1_000;

/**
 * What extensions and people put into the agent directory beside what pi itself knows is the domain's: at the next
 * start it is behind a link of its own, and kept like everything else of the domain's (S4).
 */
export function otherLinks(roots: Roots, known: readonly Link[]): Link[] {
  const { domainAgent } = pathsOf(roots);
  const names = new Set([...known.map(({ name }) => name), TRUST_FILE]);
  return readdirSync(domainAgent, { withFileTypes: true })
    .filter((entry) => !names.has(entry.name) && !PASSING.test(entry.name))
    .filter((entry) => entry.isFile() || entry.isDirectory())
    .slice(0, MAX_OTHERS)
    .map((entry) => ({
      name: entry.name,
      target: rootEntry(domainAgent, entry.name),
      behind: entry.isFile() ? 'file' : 'directory',
      owner: 'domain',
    }));
}

/**
 * Brings what stands in the agent directory and is no link into the domain, before the container and its memory go.
 * Not at once, as for the links: a program may be about to give what it writes another name.
 *
 * @returns what was kept, and what could not be
 */
export function keepOthers(roots: Roots, links: readonly Link[]): { kept: string[]; problems: string[] } {
  const { agent, domainAgent } = pathsOf(roots);
  const known = new Set([...links.map(({ name }) => name), TRUST_FILE]);
  const result = { kept: [] as string[], problems: [] as string[] };
  const entries = readdirSync(agent, { withFileTypes: true }).filter(
    (entry) => !known.has(entry.name) && !PASSING.test(entry.name) && (entry.isFile() || entry.isDirectory()),
  );
  for (const entry of entries.slice(0, MAX_OTHERS)) {
    try {
      keep(rootEntry(agent, entry.name), rootEntry(domainAgent, entry.name));
      result.kept.push(entry.name);
    } catch (error) {
      result.problems.push(messageOf(error));
    }
  }
  return result;
}

/** A file is whole or absent; a folder goes into what is there of that name, links in it as links. */
function keep(from: string, to: string): void {
  if (lstatSync(from).isDirectory()) {
    cpSync(from, to, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    return;
  }
  const fresh = `${to}.new`;
  rmSync(fresh, { recursive: true, force: true });
  copyFileSync(from, fresh, constants.COPYFILE_EXCL);
  renameSync(fresh, to);
}
