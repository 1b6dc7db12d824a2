/** Plain `docker` commands that do what the running sandbox does, read off the sandbox itself so that they stay equal. */
import { chownSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchWorld } from './world.ts';
import { OWN_LABEL, PREFIX } from './world.ts';

/** Of `docker inspect`, what the twin needs. */
interface Inspected {
  Config: { Image: string; User: string; WorkingDir: string; Hostname: string; Env: string[] };
  HostConfig: {
    NetworkMode: string;
    Memory: number;
    MemorySwap: number;
    NanoCpus: number;
    PidsLimit: number | null;
    ReadonlyRootfs: boolean;
    CapDrop: string[] | null;
    SecurityOpt: string[] | null;
    Dns: string[] | null;
    Sysctls: Record<string, string> | null;
    Tmpfs: Record<string, string> | null;
    LogConfig: { Type: string };
  };
  Mounts: { Type: string; Name?: string; Source: string; Destination: string; RW: boolean }[];
}

export interface Twin {
  readonly container: string;
  readonly image: string;
  readonly mounts: readonly { type: string; source: string; target: string; readOnly: boolean }[];
  readonly environment: ReadonlyMap<string, string>;
  /** The environment of a program in the sandbox, as a file for docker's `--env-file`. */
  readonly environmentFile: string;
  /** Limits, rights, memory file systems and network of the sandbox, as flags of `docker run`. */
  readonly flags: readonly string[];
  /** A copy of the agent directory and all that its links need, to be mounted in place of the sandbox's memory. */
  readonly memory: string;
}

/** Where a sandbox keeps the agent directory, in memory. */
export const MEMORY = '/run/pi-session';

/** Starts the project's sandbox and reads off it what a plain container needs to be equal. */
export async function twinOf(world: BenchWorld): Promise<Twin> {
  const { docker, piSandbox, project } = world;
  const printed = await world.output(piSandbox('shell', project, '--', 'env'));
  const environment = new Map(
    printed.split('\n').flatMap((line): [string, string][] => {
      const match = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(line);
      return match?.[1] === undefined ? [] : [[match[1], match[2] ?? '']];
    }),
  );
  const [container = ''] = (await world.output(docker('ps', '-q', '--filter', `label=${OWN_LABEL}`))).split(
    '\n',
  );
  const [inspected]: Inspected[] = JSON.parse(await world.output(docker('inspect', container)));
  if (inspected === undefined) throw new Error('the sandbox does not run');
  const environmentFile = join(world.scratch, 'environment');
  writeFileSync(environmentFile, [...environment].map(([name, value]) => `${name}=${value}\n`).join(''));
  return {
    container,
    image: inspected.Config.Image,
    mounts: inspected.Mounts.filter(({ Type }) => Type !== 'tmpfs').map(
      ({ Type, Name, Source, Destination, RW }) => ({
        type: Type,
        source: Name ?? Source,
        target: Destination,
        readOnly: !RW,
      }),
    ),
    environment,
    environmentFile,
    flags: flagsOf(inspected, await networkLike(world, inspected.HostConfig.NetworkMode)),
    memory: await copyMemory(world, container),
  };
}

/** As `--mount` flags. */
export function mountFlags(twin: Twin): string[] {
  const all = [...twin.mounts, { type: 'bind', source: twin.memory, target: MEMORY, readOnly: false }];
  return all.map(
    ({ type, source, target, readOnly }) =>
      `--mount=type=${type},source=${source},target=${target}${readOnly ? ',readonly' : ''}`,
  );
}

function flagsOf({ Config, HostConfig }: Inspected, network: string): string[] {
  const each = (flag: string, values: readonly string[] | null): string[] =>
    (values ?? []).map((value) => `${flag}=${value}`);
  const pairs = (values: Record<string, string> | null): string[] =>
    Object.entries(values ?? {}).map(([name, value]) => `${name}=${value}`);
  const tmpfs = Object.entries(HostConfig.Tmpfs ?? {}).filter(([target]) => target !== MEMORY);
  return [
    `--user=${Config.User}`,
    `--workdir=${Config.WorkingDir}`,
    `--hostname=${Config.Hostname}`,
    `--network=${network}`,
    `--memory=${HostConfig.Memory}`,
    `--memory-swap=${HostConfig.MemorySwap}`,
    ...(HostConfig.NanoCpus > 0 ? [`--cpus=${HostConfig.NanoCpus / 1e9}`] : []),
    ...(HostConfig.PidsLimit === null ? [] : [`--pids-limit=${HostConfig.PidsLimit}`]),
    ...(HostConfig.ReadonlyRootfs ? ['--read-only'] : []),
    ...each('--cap-drop', HostConfig.CapDrop),
    ...each('--security-opt', HostConfig.SecurityOpt),
    ...each('--dns', HostConfig.Dns),
    ...each('--sysctl', pairs(HostConfig.Sysctls)),
    ...tmpfs.map(([target, options]) => `--tmpfs=${target}:${options}`),
    `--log-driver=${HostConfig.LogConfig.Type}`,
    `--label=${OWN_LABEL}`,
  ];
}

/**
 * A network with the sandbox's options, there for good: the sandbox's own goes with its last sandbox, so that a cold
 * start makes it anew, which the baseline is spared.
 */
async function networkLike({ docker, output }: BenchWorld, network: string): Promise<string> {
  const name = `${PREFIX}baseline`;
  const named = await output(docker('network', 'ls', '-q', '--filter', `name=^${name}$`));
  if (named.trim() !== '') return name;
  const options: Record<string, string> = JSON.parse(
    await output(docker('network', 'inspect', network, '-f', '{{json .Options}}')),
  );
  const flags = Object.entries(options).map(([option, value]) => `--opt=${option}=${value}`);
  await output(docker('network', 'create', `--label=${OWN_LABEL}`, ...flags, name));
  return name;
}

/** Links stay links: they lead into the volumes, which are mounted at the same places. */
async function copyMemory(world: BenchWorld, container: string): Promise<string> {
  const directory = mkdtempSync(join(world.scratch, 'memory-'));
  chownSync(directory, world.user.uid, world.user.gid);
  const script = `docker exec "$1" tar -C ${MEMORY} -cf - . | tar -C "$2" -xpf -`;
  await world.output({ file: 'sh', words: ['-c', script, 'copy', container, directory] });
  return directory;
}
