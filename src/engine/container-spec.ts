/** A volume or host directory in a container; always structured, never an `a:b:c` string (S18). */
export interface MountSpec {
  type: 'volume' | 'bind';
  /** A volume's name, or an absolute path on the engine's host. */
  source: string;
  target: string;
  readOnly?: boolean;
  /** Volumes: leave an empty one empty, instead of filling it from the image. Podman ignores it. */
  noCopy?: boolean;
}

/** A tmpfs is always nosuid and nodev. */
export interface TmpfsSpec {
  target: string;
  sizeBytes: number;
  /** Octal permissions of its root, for example 0o700. */
  mode: number;
  exec?: boolean;
  /** Owner of its root. Podman can only give it to the container's own user. */
  uid?: number;
  gid?: number;
}

export interface PublishSpec {
  hostIp: string;
  hostPort: number;
  containerPort: number;
}

/** Everything we ask of a container, in our words; `create-body.ts` says it in each engine's. */
export interface ContainerSpec {
  image: string;
  name?: string;
  /** `uid:gid`. */
  user: string;
  /** Replaces the image's entrypoint. */
  entrypoint?: string[];
  command?: string[];
  env?: Readonly<Record<string, string>>;
  labels: Readonly<Record<string, string>>;
  mounts?: readonly MountSpec[];
  tmpfs?: readonly TmpfsSpec[];
  /** `none` has only loopback; `named` is a network of ours, by its name or id. */
  network: { mode: 'none' } | { mode: 'named'; name: string };
  limits?: { memoryBytes?: number; cpus?: number; pids?: number };
  readOnlyRoot?: boolean;
  capDropAll?: boolean;
  capAdd?: readonly string[];
  noNewPrivileges?: boolean;
  /** The engine removes the container when it ends. */
  autoRemove?: boolean;
  /** Stdin stays open until the first attached client ends it. */
  openStdin?: boolean;
  publish?: readonly PublishSpec[];
  workdir?: string;
  hostname?: string;
  /** Keep nothing of the output on the engine's disk. */
  discardLogs?: boolean;
}
