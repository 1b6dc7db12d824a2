/** What an installation leaves on an engine, seen by the engine's own command and by name alone. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestEngine } from './engines.ts';

/** Containers, volumes, networks and image tags whose name begins with the prefix, as `kind name`. */
export async function leftovers(engine: TestEngine, prefix: string): Promise<string[]> {
  const lists = await Promise.all([
    named(engine, 'volume', ['volume', 'ls', '--format', '{{.Name}}']),
    named(engine, 'network', ['network', 'ls', '--format', '{{.Name}}']),
    named(engine, 'image', ['images', '--format', '{{.Repository}}:{{.Tag}}']),
  ]);
  const byName = lists.flat().filter((line) => ourName(line).startsWith(prefix));
  return [...(await containers(engine, prefix)), ...byName];
}

/** What a killed command has asked of the engine, or is being removed already, is there for a moment more. */
const SWEEPS = 20;
const BETWEEN_SWEEPS_MS = 500;

/** Removes all of it: after a test file, also one that failed, and at the end of the run. */
export async function sweep(engine: TestEngine, prefix: string): Promise<void> {
  for (let sweeps = 0; sweeps < SWEEPS; sweeps++) {
    const found = await leftovers(engine, prefix);
    if (found.length === 0) return;
    if (sweeps > 0) await sleep(BETWEEN_SWEEPS_MS);
    await remove(engine, found);
  }
}

async function remove(engine: TestEngine, found: readonly string[]): Promise<void> {
  const commands: Record<string, string[]> = {
    container: ['rm', '--force', '--volumes'],
    volume: ['volume', 'rm', '--force'],
    network: ['network', 'rm'],
    // The image itself stays as long as it has another name, and what it was built from stays for the next build.
    image: engine.kind === 'docker' ? ['rmi', '--no-prune'] : ['rmi'],
  };
  for (const [kind, command] of Object.entries(commands)) {
    const names = found
      .filter((line) => line.startsWith(`${kind} `))
      .map((line) => line.slice(kind.length + 1));
    await Promise.all(names.map((name) => engine.command([...command, name], { tolerant: true })));
  }
}

async function named(engine: TestEngine, kind: string, list: readonly string[]): Promise<string[]> {
  const output = await engine.command(list);
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map((name) => `${kind} ${name}`);
}

/** By name or by label: helper containers have a name that the engine made up. */
async function containers(engine: TestEngine, prefix: string): Promise<string[]> {
  const output = await engine.command(['ps', '--all', '--format', '{{.Names}} {{.Labels}}']);
  return output.split('\n').flatMap((line) => {
    const [name = ''] = line.split(' ', 1);
    const labelled = [`pi-sandbox.prefix=${prefix}`, `pi-sandbox.prefix:${prefix}`];
    const ours = name.startsWith(prefix) || labelled.some((label) => line.includes(label));
    return ours && name !== '' ? [`container ${name}`] : [];
  });
}

/** Podman writes `localhost/` in front of names without a registry. */
function ourName(line: string): string {
  return line.slice(line.indexOf(' ') + 1).replace(/^localhost\//, '');
}
