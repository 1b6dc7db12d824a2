import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import type { RunRequest } from '../../wire/index.ts';

/** Debian keeps the common terminals in the second. */
const DATABASES = ['/etc/terminfo', '/lib/terminfo', '/usr/share/terminfo'];
/** What every terminal of today understands, near enough. */
const FALLBACK = 'xterm-256color';

let count = 0;

/**
 * Variables by which programs know the user's terminal: one that the image has no description of brings its own, and one
 * that nobody describes is taken for the most common (S20).
 *
 * @param memory where the description is put: the container's memory
 */
export function terminalVariables(request: RunRequest, memory: string): Record<string, string> {
  const name = request.environment.TERM;
  if (request.terminal === undefined || name === undefined || isKnown(name)) return {};
  const { terminalDescription: description } = request;
  if (description?.name !== name) return { TERM: FALLBACK };
  const database = `${memory}/terminfo`;
  const directory = `${database}/${name.slice(0, 1)}`;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const fresh = `${database}/.new-${++count}`;
  writeFileSync(fresh, Buffer.from(description.content, 'base64'));
  renameSync(fresh, `${directory}/${name}`);
  return { TERMINFO: database };
}

function isKnown(name: string): boolean {
  return DATABASES.some((database) => existsSync(`${database}/${name.slice(0, 1)}/${name}`));
}
