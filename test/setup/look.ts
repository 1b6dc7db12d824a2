/** Looks into a running sandbox through the engine's own command, and waits for what takes a moment. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { ContainerInspectInfo } from 'dockerode';
import type { Installation } from './installation.ts';

/** The names of the installation's sandboxes, of one project if given. */
export async function sandboxes(here: Installation, project?: string): Promise<string[]> {
  const filters = [
    `label=pi-sandbox.prefix=${here.prefix}`,
    'label=pi-sandbox.role=sandbox',
    ...(project === undefined ? [] : [`label=pi-sandbox.project=${project}`]),
  ];
  const output = await here.engine.command([
    'ps',
    '--all',
    ...filters.flatMap((filter) => ['--filter', filter]),
    '--format',
    '{{.Names}}',
  ]);
  return output.split('\n').filter((line) => line !== '');
}

/** The one sandbox of a project. */
export async function sandboxOf(here: Installation, project: string): Promise<string> {
  const [name, ...others] = await sandboxes(here, project);
  if (name === undefined || others.length > 0)
    throw new Error(`not one sandbox: ${name} ${others.join(' ')}`);
  return name;
}

/** Command lines of every process in a container. */
export async function processesOf(here: Installation, container: string): Promise<string[]> {
  const output = await here.engine.command(['exec', container, 'ps', '-eo', 'args', '--no-headers']);
  return output.split('\n').filter((line) => !line.startsWith('ps -eo'));
}

/** As the engine's own command prints it. */
export type Inspected = ContainerInspectInfo;

export async function inspect(here: Installation, name: string): Promise<Inspected> {
  return JSON.parse(await here.engine.command(['inspect', name]))[0];
}

/** Looks until something is so, with a bound; returns what was found. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  milliseconds = 60_000,
): Promise<T> {
  const end = Date.now() + milliseconds;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > end) throw new Error(`waited too long for: ${what}`);
    await sleep(100);
  }
}
