/** The installation that the rows run in: its own prefix, configuration, project and model; all of it goes at the end. */
import { chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ModelServer, modelServer } from '../test/setup/model-server.ts';
import { BUILD_LIMIT_MS, type Command, run } from './commands.ts';

/** In front of everything the rows make on the engine. */
export const PREFIX = 'bench-';
/** On every container, network, volume and image of ours, and on the baselines' containers too. */
export const OWN_LABEL = `pi-sandbox.prefix=${PREFIX}`;
/** Who the sandbox runs as when the rows run as root: the usual user, for whom the image is warmed. */
const USUAL_UID = 1000;
/** What pi is asked in every row, and what the model says. */
export const PROMPT = 'hi';
export const ANSWER = 'Hello from the bench model.';

export interface BenchWorld {
  /** The project that is started, an absolute path. */
  readonly project: string;
  /** A directory for whatever the rows need, gone at the end. */
  readonly scratch: string;
  readonly user: { readonly uid: number; readonly gid: number };
  readonly signal: AbortSignal;
  /** The command line of `pi-sandbox` with these words, as a user's shell would run it. */
  piSandbox(...words: string[]): Command;
  docker(...words: string[]): Command;
  /** Runs a command and returns what it printed. */
  output(command: Command): Promise<string>;
  close(): Promise<void>;
}

/** Builds the image and makes the world; `keepImage` spares the next call the build. */
export async function openWorld(options: { signal: AbortSignal; keepImage: boolean }): Promise<BenchWorld> {
  const { signal } = options;
  const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'pi-sandbox-bench-')));
  // It answers at once: what is compared is the way to it.
  const model = await modelServer();
  model.say(PROMPT, ANSWER);
  const user = userOfSandbox();
  // A company's certificates are a different piece of work on each machine; only the build may need them.
  const { NODE_EXTRA_CA_CERTS, SSL_CERT_FILE, ...plain } = process.env;
  const environment = {
    ...plain,
    PI_SANDBOX_INSTALLATION_PREFIX: PREFIX,
    PI_SANDBOX_CONFIG_DIR: join(scratch, 'configuration'),
    PI_SANDBOX_SANDBOX_UID: String(user.uid),
    PI_SANDBOX_SANDBOX_GID: String(user.gid),
  };
  const entry = resolve('dist/cli/pi-sandbox.mjs');
  const world: BenchWorld = {
    project: join(scratch, 'project'),
    scratch,
    user,
    signal,
    piSandbox: (...words) => ({ file: process.execPath, words: [entry, ...words], environment }),
    docker: (...words) => ({ file: 'docker', words }),
    output: async (command) => (await run(command, signal)).output,
    close: async () => {
      await model.stop();
      await removeEverything(options.keepImage);
      rmSync(scratch, { recursive: true, force: true });
    },
  };
  try {
    writeFiles(world, model);
    const build = world.piSandbox('image', 'build', '--offline-base');
    const trusting = { ...build.environment, NODE_EXTRA_CA_CERTS, SSL_CERT_FILE };
    await run({ ...build, environment: trusting }, signal, BUILD_LIMIT_MS);
    return world;
  } catch (error) {
    await world.close();
    throw error;
  }
}

function userOfSandbox(): { uid: number; gid: number } {
  const uid = process.getuid?.() ?? USUAL_UID;
  return uid === 0 ? { uid: USUAL_UID, gid: USUAL_UID } : { uid, gid: process.getgid?.() ?? uid };
}

function writeFiles({ scratch, project, user }: BenchWorld, model: ModelServer): void {
  const configuration = join(scratch, 'configuration', 'config');
  mkdirSync(configuration, { recursive: true });
  writeFileSync(join(configuration, 'models.json'), model.models);
  writeFileSync(join(configuration, 'settings.json'), model.settings);
  mkdirSync(project);
  writeFileSync(join(project, 'README.md'), '# A project to measure with\n');
  for (const path of [project, join(project, 'README.md')]) chownSync(path, user.uid, user.gid);
}

/** By label, so that nothing is forgotten that an interrupted row left. */
async function removeEverything(keepImage: boolean): Promise<void> {
  await remove(['ps', '-aq'], ['rm', '-f']);
  await remove(['network', 'ls', '-q'], ['network', 'rm']);
  await remove(['volume', 'ls', '-q'], ['volume', 'rm']);
  if (!keepImage) await remove(['images', '-q', '--no-trunc'], ['rmi', '-f']);
}

/** Again for a while: what the engine is removing by itself is in the way of what it holds. */
async function remove(list: string[], removal: string[]): Promise<void> {
  const docker = (words: string[]) => run({ file: 'docker', words });
  let problem: unknown;
  for (let tries = 0; tries < 10; tries++) {
    const { output } = await docker([...list, '--filter', `label=${OWN_LABEL}`]);
    const found = [...new Set(output.split('\n').filter(Boolean))];
    if (found.length === 0) return;
    problem = await docker([...removal, ...found]).catch((error: unknown) => error);
    await sleep(300);
  }
  process.stderr.write(
    `bench: could not remove everything: ${problem instanceof Error ? problem.message : removal[0]}\n`,
  );
}
