/** B2: a cold start against the devcontainer command with the same image and mounts. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Command, run, timeOfAnswer } from '../commands.ts';
import type { Row, RowMaker } from '../row.ts';
import { mountFlags, type Twin, twinOf } from '../twin.ts';
import { ANSWER, type BenchWorld, OWN_LABEL, PROMPT } from '../world.ts';
import { startSide } from './start.ts';

const VERSION = '0.89.0';
/** What the peer is told it belongs to; its containers are found and removed by it. */
const ID = 'pi-sandbox-bench=devcontainer';

export const devcontainer: RowMaker = async (world) => {
  const peer = await installPeer(world);
  const twin = await twinOf(world);
  await world.output(world.piSandbox('stop', world.project));
  const folder = writeConfiguration(world, twin);
  const command = (verb: string, ...words: string[]): Command => ({
    file: process.execPath,
    words: [peer, verb, `--workspace-folder=${folder}`, `--id-label=${ID}`, ...words],
  });
  const up = command('up', '--skip-post-create');
  const exec = command('exec', 'pi', '-p', PROMPT);
  const row: Row = {
    id: 'B2',
    work: 'cold start, to the last byte of the answer',
    goal: 0.6,
    ours: startSide(world, 'idle-ended'),
    baseline: {
      name: 'devcontainer up + devcontainer exec pi -p hi (same image and mounts)',
      measure: async () => {
        const { toEnd } = await run(up, world.signal);
        return toEnd + (await timeOfAnswer(exec, ANSWER, world.signal));
      },
      reset: async () => {
        const found = await world.output(world.docker('ps', '-aq', '--filter', `label=${ID}`));
        await world.output(world.docker('rm', '-f', ...found.split('\n').filter(Boolean)));
      },
    },
  };
  return [row];
};

/** Into a directory that no tool looks at; without the packages' own scripts. */
async function installPeer(world: BenchWorld): Promise<string> {
  const directory = resolve('node_modules/.cache/pi-sandbox-bench');
  const entry = join(directory, 'node_modules/@devcontainers/cli/devcontainer.js');
  if (!existsSync(entry)) {
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'package.json'), '{"private":true}\n');
    const words = ['install', '--ignore-scripts', '--no-audit', '--no-fund', `@devcontainers/cli@${VERSION}`];
    await run({ file: 'npm', words, directory }, world.signal);
  }
  return entry;
}

/**
 * What a user of the peer would write for this project. It has the sandbox's mounts and environment but none of its
 * limits and rights: the peer changes files of the container's own, which a read-only root forbids.
 */
function writeConfiguration(world: BenchWorld, twin: Twin): string {
  const folder = join(world.scratch, 'devcontainer');
  const inner = join(folder, '.devcontainer');
  mkdirSync(inner, { recursive: true });
  const { project, user } = world;
  const configuration = {
    image: twin.image,
    workspaceFolder: project,
    workspaceMount: `type=bind,source=${project},target=${project}`,
    mounts: mountFlags(twin)
      .map((flag) => flag.slice('--mount='.length))
      .filter((mount) => !mount.includes(`,target=${project}`)),
    containerEnv: Object.fromEntries(twin.environment),
    containerUser: `${user.uid}`,
    remoteUser: `${user.uid}`,
    updateRemoteUserUID: false,
    runArgs: [
      `--label=${OWN_LABEL}`,
      `--tmpfs=/run/user/${user.uid}:mode=0700,uid=${user.uid},gid=${user.gid}`,
    ],
  };
  writeFileSync(join(inner, 'devcontainer.json'), JSON.stringify(configuration, null, 2));
  return folder;
}
