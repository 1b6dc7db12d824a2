/** The real pi for tests, and our extensions as the image has them: bundled by esbuild, loaded with `-e`. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { fileBeside } from '../../scripts/file-beside.ts';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const PACKAGE = '@earendil-works/pi-coding-agent';

let found: string | undefined;

/** pi's command file. `PI_UNDER_TEST` names another package directory; else docker's lockfile says which pi. */
export function piCli(): string {
  found ??= findPi();
  return found;
}

function findPi(): string {
  const given = process.env.PI_UNDER_TEST;
  const directory = given ?? join(ROOT, 'docker/node_modules', PACKAGE);
  const cli = join(directory, 'dist/bundle/cli.js');
  if (existsSync(cli)) return cli;
  if (given !== undefined) throw new Error(`PI_UNDER_TEST=${given} holds no pi: ${cli} is missing`);
  const install = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: join(ROOT, 'docker'),
    encoding: 'utf8',
    timeout: 300_000,
  });
  if (!existsSync(cli)) throw new Error(`pi could not be installed in docker/:\n${install.stderr}`);
  return cli;
}

/** What each extension loads from beside it. */
const BESIDE = { 'session-lock': ['history-log'], memory: ['memory-tool'], 'demo-model': [] } as const;

/** The bundle of one extension, made the way the image's is, with what it loads beside it; its path. */
export async function bundleExtension(name: keyof typeof BESIDE): Promise<string> {
  const names = [name, ...BESIDE[name]];
  const { outputFiles } = await build({
    entryPoints: names.map((entry) => join(ROOT, 'src/agent/extensions', `${entry}.ts`)),
    outdir: 'extensions',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    external: ['@earendil-works/*', 'fs-native-extensions'],
    plugins: [fileBeside()],
    write: false,
  });
  // Below node_modules, so that the native module is found; by content, so that parallel tests do not collide.
  const hash = createHash('sha256');
  for (const { contents } of outputFiles) hash.update(contents);
  const directory = join(ROOT, 'node_modules/.cache/pi-sandbox-test', hash.digest('hex').slice(0, 12));
  mkdirSync(directory, { recursive: true });
  for (const { path, contents } of outputFiles) {
    const file = join(directory, basename(path));
    if (existsSync(file)) continue;
    writeFileSync(`${file}.${process.pid}`, contents);
    renameSync(`${file}.${process.pid}`, file);
  }
  return join(directory, `${name}.mjs`);
}

export interface PiWorld {
  /** Holds everything of this test: `agent`, `project`, `locks`, `runtime`. */
  directory: string;
  environment: NodeJS.ProcessEnv;
  project: string;
  locks: string;
  /** `-e` arguments for the lock and the demo model, and the model's choice. */
  extensions: string[];
}

/** A world of its own below `directory`, in which pi reaches no network and finds no key. */
export async function makePiWorld(directory: string): Promise<PiWorld> {
  const [lock, demo] = await Promise.all([bundleExtension('session-lock'), bundleExtension('demo-model')]);
  const at = (name: string): string => {
    const path = join(directory, name);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return path;
  };
  const locks = at('locks');
  const environment: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    HOME: at('home'),
    TERM: 'xterm-256color',
    LANG: 'C.UTF-8',
    PI_CODING_AGENT_DIR: at('agent'),
    PI_OFFLINE: '1',
    PI_TELEMETRY: '0',
    PI_SKIP_VERSION_CHECK: '1',
    PI_SANDBOX_LOCK_DIR: locks,
    PI_SANDBOX_NAME: 'test-sandbox',
    XDG_RUNTIME_DIR: at('runtime'),
  };
  const project = at('project');
  const extensions = ['-e', lock, '-e', demo, '--model', 'demo/demo-1'];
  return { directory, environment, project, locks, extensions };
}

export interface PiResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Starts pi with its input at the end (an open, idle pipe would make it wait), or with a pipe for RPC. */
export function startPi(world: PiWorld, args: string[], input: 'ignore' | 'pipe' = 'ignore'): ChildProcess {
  return spawn(process.execPath, [piCli(), ...world.extensions, ...args], {
    cwd: world.project,
    env: world.environment,
    stdio: [input, 'pipe', 'pipe'],
  });
}

/** Runs pi to its end. */
export async function runPi(world: PiWorld, args: string[]): Promise<PiResult> {
  const child = startPi(world, args);
  const ended = new Promise<number | null>((settle) => child.once('close', settle));
  const [stdout, stderr, code] = await Promise.all([
    child.stdout ? text(child.stdout) : '',
    child.stderr ? text(child.stderr) : '',
    ended,
  ]);
  return { code, stdout, stderr };
}

/** Waits, with a bound, until something holds. */
export async function until(what: string, holds: () => boolean, milliseconds = 30_000): Promise<void> {
  const end = Date.now() + milliseconds;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`waited too long for: ${what}`);
    await sleep(20);
  }
}
