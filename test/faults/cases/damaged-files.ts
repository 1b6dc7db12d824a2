import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expectPlainWords, expectSuccess, expectThat } from '../commands.ts';
import type { FaultCase } from '../fault-case.ts';
import type { Random } from '../random.ts';
import type { World } from '../world.ts';

const ENV = 'IDLE_STOP_MINUTES=5\nSESSIONS_RETENTION_DAYS=30\nDOMAINS=one,two\nMEMORY=1g\n';
const SETTINGS = JSON.stringify(
  { theme: 'dark', quietStartup: true, defaultThinkingLevel: 'low' },
  undefined,
  2,
);
const MODELS = JSON.stringify({
  providers: {
    fake: { baseUrl: 'http://127.0.0.1:9/v1', api: 'openai-completions', apiKey: 'x', models: [{ id: 'm' }] },
  },
});
const CONSENT = JSON.stringify({
  version: 1,
  projects: { '/a/project': [{ kind: 'mcp-server', name: 'a', hash: 'a'.repeat(64) }] },
});
const MCP = JSON.stringify({ mcpServers: { mine: { command: 'echo', args: ['one'] } } });

const CONFIGURATION: Record<string, string> = {
  '.env': ENV,
  'config/settings.json': SETTINGS,
  'config/models.json': MODELS,
  'config/mcp.json': MCP,
  'config/domains/one/settings.json': SETTINGS,
  'consent.json': CONSENT,
};

type Damage = (content: Buffer) => Buffer;

function someDamage(random: Random, note: (text: string) => void): Damage {
  const kind = random.pick(['cut', 'bit', 'bits', 'zeros', 'empty', 'garbage']);
  note(kind);
  return (content) => {
    const copy = Buffer.from(content);
    const flip = (): void => {
      const at = random.below(Math.max(1, copy.length));
      copy[at] = (copy[at] ?? 0) ^ (1 << random.below(8));
    };
    if (kind === 'cut') return copy.subarray(0, random.below(copy.length + 1));
    if (kind === 'empty') return Buffer.alloc(0);
    if (kind === 'zeros') return copy.fill(0, random.below(copy.length + 1));
    if (kind === 'garbage') return Buffer.from(copy.map(() => random.below(256)));
    for (let left = kind === 'bit' ? 1 : 32; left > 0; left--) flip();
    return copy;
  };
}

/** A file of the user's own may be refused by name; a start never crashes over it. */
async function expectNamedOrIgnored(world: World, project: string, path: string): Promise<void> {
  const outcome = await world.entry(project).outcome;
  expectPlainWords(outcome);
  if (outcome.code === 0) return;
  expectThat(outcome.code === 2 || outcome.code === 1, 'not an exit code of ours', outcome);
  // A damaged key or value may be told of by the key; a damaged domain by the domain.
  const names =
    outcome.stderr.includes(path) ||
    (path === '.env' && /\b[A-Z_]{4,}\b|domain|group|user/.test(outcome.stderr));
  expectThat(names, `the message does not name ${path}`, outcome);
}

export const damagedConfiguration: FaultCase<World> = {
  name: 'damaged-configuration',
  about: 'a cut, bit-flipped or emptied file of the configuration: named in a clear message, or ignored',
  tries: { usual: 40, few: 1 },
  async attempt(world, random, note) {
    for (const [path, content] of Object.entries(CONFIGURATION)) world.configure(path, content);
    const path = random.pick([
      '.env',
      'config/settings.json',
      'config/models.json',
      'config/mcp.json',
      'config/domains/one/settings.json',
      'consent.json',
    ]);
    note(path);
    const project = world.project();
    const damaged = someDamage(random, note)(Buffer.from(CONFIGURATION[path] ?? ''));
    writeFileSync(join(world.configDirectory, path), damaged);
    await expectNamedOrIgnored(world, project, path);
    world.configure(path, CONFIGURATION[path] ?? '');
    await expectSuccess(world.entry(project), 'with the file mended, the start failed');
  },
};

export const damagedCache: FaultCase<World> = {
  name: 'damaged-cache',
  about: "a cut or bit-flipped file of the command's code cache: never run, never a crash, made again",
  tries: { usual: 40, few: 1 },
  async prepare(world) {
    await expectSuccess(world.command(['config', 'check']), 'config check failed');
  },
  async attempt(world, random, note) {
    await expectSuccess(world.command(['config', 'check']), 'config check failed');
    const files = readdirSync(world.cacheDirectory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name));
    const [first, ...others] = files;
    expectThat(first !== undefined, 'there is no code cache');
    const file = random.pick([first, ...others]);
    note(relative(world.cacheDirectory, file));
    const damage = someDamage(random, note);
    const { atime, mtime } = statSync(file);
    writeFileSync(file, damage(readFileSync(file)));
    note(`${atime < mtime ? 'never read' : 'read'} before`);
    const project = world.project();
    await expectSuccess(world.command(['config', 'check', project]), 'config check failed');
    await expectSuccess(world.entry(project), 'the start failed');
  },
};

/** Inside a volume: files that the sandbox keeps, by what they belong to. */
const STATE: readonly [string, ...string[]] = [
  '/a/.pi/agent/trust.json',
  '/a/.pi/agent/auth.json',
  '/d/agent/models-store.json',
  '/d/logs/sandboxes/*.jsonl',
  '/d/home/.bashrc',
  '/s/*/*.jsonl',
];

/** Changes a file in place, by a program of its own in a container: the damage comes in as base64. */
async function inVolumes(world: World, script: string, input = ''): Promise<string> {
  const mounts = [
    `type=volume,source=${world.prefix}pi-agent-state,target=/a`,
    `type=volume,source=${world.volume('sessions', 'one')},target=/s`,
    `type=volume,source=${world.volume('domain-state', 'one')},target=/d`,
  ].flatMap((mount) => ['--mount', mount]);
  const run = [...world.plainRun, '--label', 'faults.keeper=damage', ...mounts, '--env', `DATA=${input}`];
  return world.engine([...run, '--entrypoint', 'sh', world.image, '-c', script]);
}

export const damagedState: FaultCase<World> = {
  name: 'damaged-state',
  about:
    'cut or bit-flipped files in the volumes (trust, login, logs, Sessions): a start works all the same, and leaves what it cannot read',
  tries: { usual: 30, few: 1 },
  async attempt(world, random, note) {
    await world.wipe();
    const project = world.project();
    await expectSuccess(world.demo(project), 'the first start failed');
    const decisions = `{\\"${project}\\":true}`;
    const write = `printf '%s' "${decisions}" > ~/.pi/agent/trust.json; printf '{}' > ~/.pi/agent/auth.json; printf '{}' > ~/.pi/agent/models-store.json; sleep 0.3`;
    await expectSuccess(world.shell(project, ['sh', '-c', write]), 'the writing shell failed');
    await world.stopAll();
    const pattern = random.pick(STATE);
    note(pattern);
    const [path = '', content = ''] = (
      await inVolumes(
        world,
        `for f in ${pattern}; do [ -f "$f" ] && echo "$f" && base64 -w0 "$f" && break; done; :`,
      )
    ).split('\n');
    expectThat(path !== '', `there is no ${pattern}`);
    const damaged = someDamage(random, note)(Buffer.from(content, 'base64')).toString('base64');
    await inVolumes(world, `printf '%s' "$DATA" | base64 -d > "${path}"`, damaged);
    await expectSuccess(world.shell(project, ['true']), 'a shell failed');
    const pi = await world.demo(project).outcome;
    expectPlainWords(pi);
    expectThat(
      pi.code === 0 || /\.json|Credential store/.test(pi.stderr),
      'pi failed and does not say over which file',
      pi,
    );
    for (const words of [
      ['logs', project],
      ['ps', '--all'],
    ])
      await expectSuccess(world.command(words), `${words[0]} failed`);
    await world.stopAll();
    await expectSuccess(world.command(['ps', '--all']), 'ps failed');
    // What was damaged here is not the sandbox's to keep.
    await world.wipe();
  },
};
