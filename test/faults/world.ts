/** An installation for faults: a prefix, configuration, home and projects of its own, and what it was promised. */
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { hostUlimits } from '../../src/engine/host-limits.ts';
import { readyEngine, type TestEngine } from '../setup/engines.ts';
import { leftovers, sweep } from '../setup/leftovers.ts';
import { cleanEnvironment, type E2e } from '../setup/scene.ts';
import { type Outcome, output, type RunningCommand, startCommand } from './commands.ts';
import { type EngineEvents, watchEngine } from './engine-events.ts';

export const DOMAINS = ['one', 'two'] as const;
export type Domain = (typeof DOMAINS)[number];

/** The usual first user: the owner of the projects where this process may give them away. */
const USUAL = 1000;

export interface StartOptions {
  domain?: Domain;
  env?: NodeJS.ProcessEnv;
  /** Options of the verb, before the project. */
  options?: readonly string[];
  patienceMs?: number;
}

export interface World {
  readonly kind: TestEngine['kind'];
  /** The engine's own command, which must succeed; its output. */
  engine(words: readonly string[]): Promise<string>;
  /** The same where failing is as good an answer. */
  tryEngine(words: readonly string[]): Promise<Outcome>;
  /** `run` of the plain image as root and without network: options and command come after it. */
  readonly plainRun: readonly string[];
  readonly prefix: string;
  readonly image: string;
  readonly directory: string;
  readonly configDirectory: string;
  /** Where the command keeps what it can make again. */
  readonly cacheDirectory: string;
  readonly events: EngineEvents;
  /** The command with any words. */
  command(words: readonly string[], options?: Pick<StartOptions, 'env' | 'patienceMs'>): RunningCommand;
  /** `pi-sandbox shell <project> -- <words>`. */
  shell(project: string, words: readonly string[], options?: StartOptions): RunningCommand;
  /** `pi-sandbox start --demo <project> -- -p hi`: real pi, and a Session that must be kept if it succeeds. */
  demo(project: string, options?: StartOptions): RunningCommand;
  /** A shell that writes one line into the domain's home, which must be kept if it succeeds. */
  entry(project: string, options?: StartOptions): RunningCommand;
  /** What was acknowledged so far. */
  promised(domain: Domain): { entries: readonly string[]; sessions: number };
  project(): string;
  configure(path: string, content: string): void;
  volume(role: 'sessions' | 'domain-state', domain: Domain): string;
  /** Names of the installation's containers, in any state. */
  containers(): Promise<string[]>;
  /** The one network that is there: a domain's, or on Podman a sandbox's. */
  network(): Promise<string>;
  stopAll(): Promise<void>;
  /** Removes volumes and networks by hand, and with them what was promised: the installation is a fresh one again. */
  wipe(): Promise<void>;
  /** Removes containers and networks by hand, whatever left them. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

export async function openWorld(
  { root, image: built, directory: scratch }: E2e,
  kind: TestEngine['kind'] = 'docker',
): Promise<World> {
  const prefix = `f${randomBytes(3).toString('hex')}-`;
  const directory = mkdtempSync(join(scratch, 'faults-'));
  chmodSync(directory, 0o755);
  const configDirectory = join(directory, 'config');
  for (const name of ['config', 'home', 'projects', 'cache']) mkdirSync(join(directory, name));
  const image = `${prefix}pi-sandbox:${built.slice(built.lastIndexOf(':') + 1)}`;
  const engine = await readyEngine(kind, { directory: scratch, image: built });
  const own = (words: readonly string[]) => output([kind, ...words]);
  await own(['tag', built, image]);
  const events = await watchEngine(kind, prefix);
  const env = {
    ...cleanEnvironment(join(directory, 'home')),
    XDG_CACHE_HOME: join(directory, 'cache'),
    PI_SANDBOX_CONFIG_DIR: configDirectory,
    PI_SANDBOX_INSTALLATION_PREFIX: prefix,
    PI_SANDBOX_DOMAINS: DOMAINS.join(','),
    PI_SANDBOX_DEFAULT_DOMAIN: DOMAINS[0],
    ...engine.env,
  };
  const entries = new Map<Domain, string[]>();
  const sessions = new Map<Domain, number>();
  const running = new Set<RunningCommand>();
  const command: World['command'] = (words, { env: added, patienceMs } = {}) => {
    const started = startCommand([process.execPath, join(root, 'dist/cli/pi-sandbox.mjs'), ...words], {
      env: { ...env, ...added },
      cwd: directory,
      ...(patienceMs === undefined ? {} : { patienceMs }),
    });
    running.add(started);
    void started.outcome.catch(() => undefined).finally(() => running.delete(started));
    return started;
  };
  const inProject = (
    verb: readonly string[],
    project: string,
    words: readonly string[],
    { domain = DOMAINS[0], options = [], ...rest }: StartOptions,
  ): RunningCommand => command([...verb, '--domain', domain, ...options, project, '--', ...words], rest);
  /** Calls `keep` before anybody who waits for the outcome learns of it. */
  const promise = (started: RunningCommand, keep: () => void): RunningCommand => {
    const outcome = started.outcome.then((result) => {
      if (result.code === 0) keep();
      return result;
    });
    outcome.catch(() => undefined);
    return { ...started, outcome };
  };
  const limits = kind === 'podman' ? await hostUlimits() : [];
  const world: World = {
    kind,
    engine: own,
    tryEngine: (words) => startCommand([kind, ...words]).outcome,
    plainRun: [
      ...['run', '--rm', '--network', 'none', '--user', '0:0'],
      ...limits.flatMap(({ name, soft, hard }) => ['--ulimit', `${name}=${soft}:${hard}`]),
    ],
    prefix,
    image,
    directory,
    configDirectory,
    cacheDirectory: join(directory, 'cache'),
    events,
    command,
    shell: (project, words, options = {}) => inProject(['shell'], project, words, options),
    demo(project, options = {}) {
      const { domain = DOMAINS[0] } = options;
      return promise(inProject(['start', '--demo'], project, ['-p', 'hi'], options), () =>
        sessions.set(domain, (sessions.get(domain) ?? 0) + 1),
      );
    },
    entry(project, options = {}) {
      const { domain = DOMAINS[0] } = options;
      const word = randomBytes(8).toString('hex');
      const script = `echo ${word} >> ~/entries && echo ${word}`;
      return promise(inProject(['shell'], project, ['sh', '-c', script], options), () =>
        entries.set(domain, [...(entries.get(domain) ?? []), word]),
      );
    },
    promised: (domain) => ({ entries: entries.get(domain) ?? [], sessions: sessions.get(domain) ?? 0 }),
    project() {
      const project = join(mkdtempSync(join(directory, 'projects/p-')), 'shop');
      chmodSync(dirname(project), 0o755);
      mkdirSync(project);
      if (process.getuid?.() === 0) chownSync(project, USUAL, USUAL);
      return project;
    },
    configure(path, content) {
      const file = join(configDirectory, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
    },
    volume: (role, domain) => `${prefix}pi-${role}-${domain}`,
    containers: async () => named(await leftovers(engine, prefix), 'container'),
    async network() {
      const [name] = named(await leftovers(engine, prefix), 'network');
      if (name === undefined) throw new Error('there is no network');
      return name;
    },
    async stopAll() {
      const { code, stderr } = await command(['stop', '--all']).outcome;
      if (code !== 0) throw new Error(`stop --all failed with ${code}: ${stderr}`);
    },
    async wipe() {
      const found = await leftovers(engine, prefix);
      for (const volume of named(found, 'volume')) await own(['volume', 'rm', volume]);
      for (const network of named(found, 'network')) await own(['network', 'rm', network]);
      entries.clear();
      sessions.clear();
    },
    async clear() {
      const found = await leftovers(engine, prefix);
      for (const container of named(found, 'container')) await own(['rm', '-f', container]);
      if (named(found, 'network').length === 0) return;
      // By id: there may be two of one name.
      const ids = await own(['network', 'ls', '--quiet', '--filter', `name=^${prefix}`]);
      for (const id of ids.split('\n').filter(Boolean)) await own(['network', 'rm', id]);
    },
    async close() {
      for (const { child } of running) child.kill('SIGKILL');
      await world.clear().catch(() => undefined);
      await sweep(engine, prefix);
      await engine.close();
      events.close();
      if (existsSync(directory)) rmSync(directory, { recursive: true, force: true });
    },
  };
  return world;
}

function named(lines: readonly string[], kind: string): string[] {
  return lines.filter((line) => line.startsWith(`${kind} `)).map((line) => line.slice(kind.length + 1));
}
