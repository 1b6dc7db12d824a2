import { type Json, number, object, objects, text, textMap, time } from './fields.ts';

export type ContainerState =
  | 'created'
  | 'running'
  | 'paused'
  | 'restarting'
  | 'removing'
  | 'exited'
  | 'dead'
  | 'unknown';

/** One row of a listing. */
export interface ContainerSummary {
  id: string;
  name: string;
  /** The image as it was named at creation. */
  image: string;
  imageId: string;
  state: ContainerState;
  labels: Record<string, string>;
  /** Milliseconds since 1970. */
  createdAt: number | undefined;
}

export interface ContainerInfo extends ContainerSummary {
  startedAt: number | undefined;
  finishedAt: number | undefined;
  exitCode: number;
  /** The kernel ended it because it reached its memory limit. */
  oomKilled: boolean;
  error: string;
  mounts: { type: string; source: string; target: string; readOnly: boolean }[];
  networks: string[];
  /** `uid:gid`. */
  user: string;
  /** 0 where there is no limit. */
  limits: { memoryBytes: number; cpus: number; pids: number };
  /** Where ports of the container can be reached on the engine's host. */
  published: { hostIp: string; hostPort: number; containerPort: number }[];
  /** The engine's own answer, for printing. */
  raw: Json;
}

export function containerSummary(row: Json): ContainerSummary {
  const names = Array.isArray(row.Names) ? row.Names : [];
  return {
    id: text(row.Id),
    name: plainName(text(names[0])),
    image: text(row.Image),
    imageId: text(row.ImageID),
    state: stateOf(text(row.State)),
    labels: textMap(row.Labels),
    createdAt: time(row.Created),
  };
}

export function containerInfo(raw: Json): ContainerInfo {
  const state = object(raw.State);
  const config = object(raw.Config);
  const host = object(raw.HostConfig);
  return {
    id: text(raw.Id),
    name: plainName(text(raw.Name)),
    image: text(config.Image),
    imageId: text(raw.Image),
    state: stateOf(text(state.Status)),
    labels: textMap(config.Labels),
    createdAt: time(raw.Created),
    startedAt: time(state.StartedAt),
    finishedAt: time(state.FinishedAt),
    exitCode: number(state.ExitCode),
    oomKilled: state.OOMKilled === true,
    error: text(state.Error),
    mounts: objects(raw.Mounts).map((mount) => ({
      type: text(mount.Type),
      source: mount.Type === 'volume' ? text(mount.Name) : text(mount.Source),
      target: text(mount.Destination),
      readOnly: mount.RW === false,
    })),
    networks: Object.keys(object(object(raw.NetworkSettings).Networks)),
    user: text(config.User),
    limits: {
      memoryBytes: number(host.Memory),
      cpus: number(host.NanoCpus) / 1e9,
      pids: number(host.PidsLimit),
    },
    published: publishedPorts(object(object(raw.NetworkSettings).Ports)),
    raw,
  };
}

function publishedPorts(ports: Json): ContainerInfo['published'] {
  return Object.entries(ports).flatMap(([key, bindings]) =>
    objects(bindings).map((binding) => ({
      hostIp: text(binding.HostIp),
      hostPort: Number(text(binding.HostPort)),
      containerPort: Number.parseInt(key, 10),
    })),
  );
}

/** Docker writes a slash before a name. */
function plainName(name: string): string {
  return name.replace(/^\//, '');
}

function stateOf(state: string): ContainerState {
  switch (state) {
    case 'created':
    case 'running':
    case 'paused':
    case 'restarting':
    case 'removing':
    case 'exited':
    case 'dead':
      return state;
    // Podman's own words.
    case 'configured':
    case 'initialized':
      return 'created';
    case 'stopped':
      return 'exited';
    case 'stopping':
      return 'running';
    default:
      return 'unknown';
  }
}
