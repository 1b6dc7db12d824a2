/** An installation of one test file: a prefix, a configuration and a home of its own, and the built command. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { inject } from 'vitest';
import { engineOf, type TestEngine } from './engines.ts';
import { leftovers, sweep } from './leftovers.ts';
import { cleanEnvironment } from './scene.ts';

/** No command of a test takes longer, unless it says so. */
const COMMAND_MS = 60_000;

export interface RunOptions {
  input?: string | Buffer;
  /** Added to a user's clean environment; undefined takes a variable away. */
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** Milliseconds. */
  timeout?: number;
}

export interface RunResult {
  exitCode: number | undefined;
  signal: string | undefined;
  stdout: string;
  stderr: string;
}

export interface Installation {
  readonly prefix: string;
  readonly engine: TestEngine;
  /** Holds the configuration, the home and the projects. */
  readonly directory: string;
  readonly configDirectory: string;
  readonly env: NodeJS.ProcessEnv;
  /** The command's file. */
  readonly cli: string;
  /** Who owns the projects, and so who the sandboxes run as (S2). */
  readonly owner: Owner;
  /** The session image under this installation's name. */
  readonly image: string;
  /** Runs the command to its end; without input its standard input is at its end. */
  run(args: readonly string[], options?: RunOptions): Promise<RunResult>;
  /** Starts the command with pipes and leaves it running; the clean-up ends it. */
  start(args: readonly string[], options?: Pick<RunOptions, 'env' | 'cwd'>): ChildProcessWithoutNullStreams;
  /** Writes a file of the configuration directory, such as `.env` or `config/settings.json`. */
  configure(path: string, content: string): void;
  /** A new directory, owned by `owner` where this process may give it away. */
  project(owner?: Owner, name?: string): string;
  /** What is on the engine under this prefix, the image left out. */
  leftovers(): Promise<string[]>;
  /** Removes everything of this installation, whatever state a failed test left it in. */
  cleanup(): Promise<void>;
}

export interface Owner {
  uid: number;
  gid: number;
}

const ROOT = process.getuid?.() === 0;
/** Tests often run as root: then a project belongs to the usual first user, and sandboxes run as that one (S2). */
const OWNER: Owner = ROOT ? { uid: 1000, gid: 1000 } : { uid: userInfo().uid, gid: userInfo().gid };

export async function installation(engine: TestEngine = engineOf('docker')): Promise<Installation> {
  const { run, root, image: built, directory: scratch } = inject('e2e');
  const prefix = `${run}-${randomBytes(3).toString('hex')}-`;
  const directory = mkdtempSync(join(scratch, 'installation-'));
  chmodSync(directory, 0o755);
  const configDirectory = join(directory, 'config');
  const home = join(directory, 'home');
  for (const made of [configDirectory, home, join(directory, 'projects')]) mkdirSync(made);
  const image = `${prefix}pi-sandbox:${built.slice(built.lastIndexOf(':') + 1)}`;
  await engine.command(['tag', built, image]);
  const env = {
    ...cleanEnvironment(home),
    PI_SANDBOX_CONFIG_DIR: configDirectory,
    PI_SANDBOX_INSTALLATION_PREFIX: prefix,
    ...engine.env,
  };
  const cli = join(root, 'dist/cli/pi-sandbox.mjs');
  const started: ChildProcessWithoutNullStreams[] = [];
  const optionsOf = ({ env: added, cwd = directory, timeout = COMMAND_MS }: RunOptions) => ({
    env: { ...env, ...added },
    extendEnv: false,
    cwd,
    timeout,
    reject: false as const,
    maxBuffer: 256 * 1024 * 1024,
    stripFinalNewline: false,
  });
  return {
    prefix,
    engine,
    directory,
    configDirectory,
    env,
    cli,
    owner: OWNER,
    image,
    async run(args, options = {}) {
      const { input } = options;
      const result = await execa(process.execPath, [cli, ...args], {
        ...optionsOf(options),
        ...(input === undefined ? { stdin: 'ignore' as const } : { input }),
      });
      const { exitCode, signal, stdout, stderr, timedOut } = result;
      if (timedOut) throw new Error(`pi-sandbox ${args.join(' ')} did not end in time: ${stderr}\n${stdout}`);
      return { exitCode, signal, stdout, stderr };
    },
    start(args, { env: added, cwd = directory } = {}) {
      const child = spawn(process.execPath, [cli, ...args], { env: { ...env, ...added }, cwd });
      started.push(child);
      return child;
    },
    configure(path, content) {
      const file = join(configDirectory, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
    },
    project(owner = OWNER, name = 'shop') {
      const project = join(mkdtempSync(join(directory, 'projects/p-')), name);
      chmodSync(dirname(project), 0o755);
      mkdirSync(project);
      if (ROOT) chownSync(project, owner.uid, owner.gid);
      return project;
    },
    leftovers: async () => (await leftovers(engine, prefix)).filter((line) => !line.startsWith('image ')),
    async cleanup() {
      for (const child of started) child.kill('SIGKILL');
      await sweep(engine, prefix);
      rmSync(directory, { recursive: true, force: true });
      await engine.close();
    },
  };
}
