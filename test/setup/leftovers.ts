/** What an installation leaves on an engine, seen by the engine's own command and by name alone. */
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

/** Removes all of it: after a test file, also one that failed, and at the end of the run. */
export async function sweep(engine: TestEngine, prefix: string): Promise<void> {
  const found = await leftovers(engine, prefix);
  const remove: Record<string, string[]> = {
    container: ['rm', '--force', '--volumes'],
    volume: ['volume', 'rm', '--force'],
    network: ['network', 'rm'],
    // The image itself stays as long as it has another name, and what it was built from stays for the next build.
    image: engine.kind === 'docker' ? ['rmi', '--no-prune'] : ['rmi'],
  };
  for (const [kind, command] of Object.entries(remove)) {
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
