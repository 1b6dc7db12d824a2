import { FRONT_DIRECTORIES, sandboxEnvironment, sandboxRoots } from '../../agent-dir/index.ts';
import type { ContainerSpec, MountSpec, PublishSpec } from '../../engine/index.ts';
import { domainLabels, LABELS, type Sandbox } from './sandbox.ts';

const MEBIBYTE = 2 ** 20;
/** Holds the agent directory's links and one or two merges of the configuration, each bounded. */
const SESSION_TMPFS_BYTES = 160 * MEBIBYTE;
const RUNTIME_TMPFS_BYTES = 16 * MEBIBYTE;
const VAR_TMP_BYTES = 256 * MEBIBYTE;
const FRONT_TMPFS_BYTES = 64 * MEBIBYTE;

/** What `start` may ask of a new container beyond its project and domain (S14). */
export interface ContainerOptions {
  readonly memoryBytes: number;
  readonly cpus?: number | undefined;
  readonly readOnlyProject: boolean;
  readonly mounts: readonly MountSpec[];
  readonly alias?: string | undefined;
  readonly publish?: readonly PublishSpec[];
  /** The options themselves, as they were given: kept with the container for its successor. */
  readonly given?: object;
  /** Proxy, locale and certificate variables of every process in the container. */
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * The container of a sandbox, locked down (S17): no capabilities, no new privileges, read-only root, not root, limits,
 * no engine socket, and no host path but the project and what the user named.
 */
export function containerSpec(
  sandbox: Sandbox,
  image: string,
  network: ContainerSpec['network'],
  options: ContainerOptions,
): ContainerSpec {
  const { user, config, project, volumes } = sandbox;
  const roots = sandboxRoots(user.uid);
  const owned = { uid: user.uid, gid: user.gid };
  return {
    name: sandbox.name,
    image,
    user: `${user.uid}:${user.gid}`,
    workdir: project.canonical,
    hostname: hostName(sandbox),
    env: {
      ...sandboxEnvironment(roots),
      ...compileCacheEnvironment(user.uid),
      ...options.environment,
      PI_SANDBOX_NAME: sandbox.name,
      PI_SANDBOX_PROJECT: project.canonical,
    },
    labels: {
      ...domainLabels(sandbox, 'sandbox'),
      [LABELS.project]: project.canonical,
      ...(options.alias === undefined ? {} : { [LABELS.alias]: options.alias }),
      [LABELS.options]: JSON.stringify(options.given ?? {}),
    },
    mounts: [
      { type: 'volume', source: volumes.agentState, target: roots.shared, noCopy: true },
      { type: 'volume', source: volumes.sessions, target: roots.sessions, noCopy: true },
      { type: 'volume', source: volumes.domainState, target: roots.domain, noCopy: true },
      {
        type: 'bind',
        source: project.canonical,
        target: project.canonical,
        readOnly: options.readOnlyProject,
      },
      ...options.mounts,
    ],
    tmpfs: [
      { target: roots.memory, sizeBytes: SESSION_TMPFS_BYTES, mode: 0o700, ...owned },
      { target: roots.runtime, sizeBytes: RUNTIME_TMPFS_BYTES, mode: 0o700, ...owned },
      // go run, npx and node-gyp execute what they put here.
      { target: '/tmp', sizeBytes: config.TMP_SIZE, mode: 0o1777, exec: true },
      // Podman makes these two writable by itself, and without a bound.
      { target: '/run', sizeBytes: MEBIBYTE, mode: 0o755 },
      { target: '/var/tmp', sizeBytes: VAR_TMP_BYTES, mode: 0o1777 },
      ...FRONT_DIRECTORIES.map((target) => ({ target, sizeBytes: FRONT_TMPFS_BYTES, mode: 0o755, ...owned })),
    ],
    network,
    ...(options.publish === undefined || options.publish.length === 0 ? {} : { publish: options.publish }),
    limits: {
      memoryBytes: options.memoryBytes,
      pids: config.PIDS,
      ...(options.cpus === undefined ? {} : { cpus: options.cpus }),
    },
    readOnlyRoot: true,
    capDropAll: true,
    noNewPrivileges: true,
    autoRemove: true,
    openStdin: true,
    // What pi prints is the domain's words: none of it may land on the engine's disk.
    discardLogs: true,
  };
}

/** The image's baked cache belongs to uid 1000; other users reach it through a link in the container's memory. */
function compileCacheEnvironment(uid: number): Record<string, string> {
  return uid === 1000 ? {} : { NODE_COMPILE_CACHE: '/run/pi-session/compile-cache' };
}

/** A prompt that says where one is; at most 63 of what a host name may hold. */
function hostName({ domain, project }: Sandbox): string {
  const slug = `${domain}-${project.canonical.split('/').at(-1) ?? ''}`
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-');
  return slug.slice(0, 40).replace(/^-+|-+$/g, '') || 'sandbox';
}
