import { OperationError } from '../lib/errors.ts';
import type { ContainerSpec, MountSpec, PublishSpec, TmpfsSpec } from './container-spec.ts';
import type { Ulimit } from './host-limits.ts';
import type { EngineKind } from './transport.ts';

interface CreateFacts {
  kind: EngineKind;
  /** Limits to state explicitly, where the engine would otherwise ask for more than its host grants. */
  ulimits: readonly Ulimit[];
}

/** The body of `POST /containers/create`. */
export function createBody(spec: ContainerSpec, facts: CreateFacts): Record<string, unknown> {
  const open = spec.openStdin === true;
  return withoutUndefined({
    Image: spec.image,
    User: spec.user,
    Entrypoint: spec.entrypoint,
    Cmd: spec.command,
    Env: Object.entries(spec.env ?? {}).map(([key, value]) => `${key}=${value}`),
    Labels: spec.labels,
    WorkingDir: spec.workdir,
    Hostname: spec.hostname,
    Tty: false,
    OpenStdin: open,
    // Docker ends the program's stdin with the client's only so.
    StdinOnce: open,
    AttachStdin: open,
    AttachStdout: open,
    AttachStderr: open,
    ExposedPorts: spec.publish && Object.fromEntries(spec.publish.map((port) => [portKey(port), {}])),
    HostConfig: hostConfig(spec, facts),
  });
}

function hostConfig(spec: ContainerSpec, { kind, ulimits }: CreateFacts): Record<string, unknown> {
  const { limits = {} } = spec;
  // No `Init`: Podman needs a program for it that Debian's lacks; the image's entrypoint starts tini (reference, trap 2).
  return withoutUndefined({
    NetworkMode: spec.network.mode === 'none' ? 'none' : spec.network.name,
    ...mountBodies(spec.mounts ?? [], kind),
    Tmpfs:
      spec.tmpfs && Object.fromEntries(spec.tmpfs.map((tmpfs) => [tmpfs.target, tmpfsOptions(tmpfs, kind)])),
    Memory: limits.memoryBytes,
    // The same figure: no swap on top.
    MemorySwap: limits.memoryBytes,
    NanoCpus: limits.cpus === undefined ? undefined : Math.round(limits.cpus * 1e9),
    PidsLimit: limits.pids,
    ReadonlyRootfs: spec.readOnlyRoot,
    CapDrop: spec.capDropAll ? ['ALL'] : undefined,
    CapAdd: spec.capAdd,
    SecurityOpt: spec.noNewPrivileges ? ['no-new-privileges'] : undefined,
    AutoRemove: spec.autoRemove,
    PortBindings: spec.publish && portBindings(spec.publish),
    LogConfig: spec.discardLogs ? { Type: 'none', Config: {} } : undefined,
    Ulimits:
      ulimits.length > 0
        ? ulimits.map((limit) => ({ Name: limit.name, Soft: limit.soft, Hard: limit.hard }))
        : undefined,
  });
}

/**
 * Docker takes every path as it is. Podman's Docker API writes each mount as `source=…,target=…` and reads that as CSV,
 * so a path with one of its marks goes as a bind, which it splits at colons; with both there is no way (S18).
 */
function mountBodies(mounts: readonly MountSpec[], kind: EngineKind): Record<string, unknown> {
  const has = (mount: MountSpec, marks: RegExp) => marks.test(mount.source) || marks.test(mount.target);
  const asBind = (mount: MountSpec) => kind === 'podman' && has(mount, /[,"\r\n]/);
  const impossible = mounts.find((mount) => asBind(mount) && has(mount, /:/));
  if (impossible) {
    throw new OperationError(
      `Podman cannot mount a path with both a colon and a comma or quote: ${impossible.source}`,
      {
        hint: 'rename the directory, or use Docker Engine',
      },
    );
  }
  return {
    Mounts: mounts.filter((mount) => !asBind(mount)).map(mountBody),
    Binds: mounts
      .filter(asBind)
      .map(({ source, target, readOnly }) => `${source}:${target}${readOnly ? ':ro' : ''}`),
  };
}

function mountBody(mount: MountSpec): Record<string, unknown> {
  return withoutUndefined({
    Type: mount.type,
    Source: mount.source,
    Target: mount.target,
    ReadOnly: mount.readOnly,
    VolumeOptions: mount.type === 'volume' && mount.noCopy ? { NoCopy: true } : undefined,
  });
}

/** Podman refuses `uid=`; its `U` gives the tmpfs to the container's user. It also fills a tmpfs from the image unless told not to. */
export function tmpfsOptions(tmpfs: TmpfsSpec, kind: EngineKind): string {
  const owner = kind === 'podman' ? podmanOwner(tmpfs) : dockerOwner(tmpfs);
  return [
    'rw',
    'nosuid',
    'nodev',
    tmpfs.exec ? 'exec' : 'noexec',
    `mode=${tmpfs.mode.toString(8).padStart(4, '0')}`,
    `size=${tmpfs.sizeBytes}`,
    ...owner,
  ].join(',');
}

function podmanOwner(tmpfs: TmpfsSpec): string[] {
  return [...(tmpfs.uid === undefined ? [] : ['U']), 'notmpcopyup'];
}

function dockerOwner(tmpfs: TmpfsSpec): string[] {
  return [
    ...(tmpfs.uid === undefined ? [] : [`uid=${tmpfs.uid}`]),
    ...(tmpfs.gid === undefined ? [] : [`gid=${tmpfs.gid}`]),
  ];
}

function portKey(port: PublishSpec): string {
  return `${port.containerPort}/tcp`;
}

function portBindings(ports: readonly PublishSpec[]): Record<string, { HostIp: string; HostPort: string }[]> {
  const bindings: Record<string, { HostIp: string; HostPort: string }[]> = {};
  for (const port of ports) {
    bindings[portKey(port)] ??= [];
    bindings[portKey(port)]?.push({ HostIp: port.hostIp, HostPort: String(port.hostPort) });
  }
  return bindings;
}

function withoutUndefined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
