/** Mounts, links, owners, and what can be written. */
import { lstatSync, readFileSync, readlinkSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasCode } from '../../lib/errors.ts';
import { randomId } from '../../lib/ids.ts';
import { SELFTEST_LIMITS, type SelftestFacts } from '../../wire/index.ts';

/** Where the engines keep their sockets; one that is mounted elsewhere shows in the mounts. */
const ENGINE_SOCKETS = [
  '/var/run/docker.sock',
  '/run/docker.sock',
  '/run/podman/podman.sock',
  '/run/containerd/containerd.sock',
  '/run/crio/crio.sock',
  '/run/buildkit/buildkitd.sock',
];

export function allMounts(): SelftestFacts['mounts'] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [before = '', after = ''] = line.split(' - ');
      const [, , , root, target, options] = before.split(' ');
      const [type, , superOptions] = after.split(' ');
      if (root === undefined || target === undefined || type === undefined) return [];
      const path = unescaped(target);
      return [
        {
          target: path,
          type,
          root: unescaped(root),
          options: optionsOf(options, superOptions),
          ...sizeOf(type, path),
        },
      ];
    })
    .slice(0, SELFTEST_LIMITS.mounts);
}

/** Of a mount and its file system: `rw` of the latter says nothing, for the mount itself may be read-only. */
function optionsOf(own = '', fileSystem = ''): string[] {
  const shared = fileSystem.split(',').filter((option) => option !== 'rw');
  return [...own.split(','), ...shared].filter((option) => option.length <= 256).slice(0, 100);
}

function sizeOf(type: string, path: string): { size?: number } {
  if (type !== 'tmpfs') return {};
  try {
    const { blocks, bsize } = statfsSync(path);
    return { size: blocks * bsize };
  } catch {
    return {};
  }
}

/** The kernel writes blanks and backslashes of a path in octal. */
function unescaped(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
}

export function linkTargets(paths: readonly string[]): SelftestFacts['links'] {
  return Object.fromEntries(paths.map((path) => [path, orNull(() => readlinkSync(path))]));
}

export function owners(paths: readonly string[]): SelftestFacts['owners'] {
  return Object.fromEntries(
    paths.map((path) => [
      path,
      orNull(() => {
        const { uid, gid } = statSync(path);
        return { uid, gid };
      }),
    ]),
  );
}

export function engineSockets(env: NodeJS.ProcessEnv): string[] {
  const named = env.DOCKER_HOST?.startsWith('unix://') ? [env.DOCKER_HOST.slice('unix://'.length)] : [];
  return [...ENGINE_SOCKETS, ...named].filter(
    (path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined,
  );
}

/** Writes a small file of our own and takes it away again: `written`, or the error's code. */
export function tryWrite(directory: string): string {
  const file = join(directory, `.pi-sandbox-selftest-${randomId(8)}`);
  try {
    writeFileSync(file, '', { flag: 'wx' });
    rmSync(file);
    return 'written';
  } catch (error) {
    return codeOf(error);
  }
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : 'unknown error';
}

function orNull<T>(look: () => T): T | null {
  try {
    return look();
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'EINVAL', 'ENOTDIR', 'EACCES', 'ELOOP')) return null;
    throw error;
  }
}
