import { stat } from 'node:fs/promises';
import type { Engine, MountSpec } from '../../engine/index.ts';
import type { SandboxConfig } from '../../wire/index.ts';
import type { CanonicalPath } from '../config/index.ts';
import { info, warn } from '../ui/report.ts';
import { gitCommonDirectory, gitHooksDirectory } from './project-git.ts';

/** A worktree's or submodule's git directory, said so, and the hooks read-only (S17). */
export async function gitMounts(project: CanonicalPath, protect: boolean): Promise<MountSpec[]> {
  const mounts: MountSpec[] = [];
  const common = await gitCommonDirectory(project);
  const directory = common !== undefined && 'directory' in common ? common.directory : undefined;
  if (common !== undefined && 'refused' in common) warn(common.refused);
  if (directory !== undefined) {
    info(`mounting the project's git directory ${directory} too`);
    mounts.push({ type: 'bind', source: directory, target: directory });
  }
  const hooks = protect ? await gitHooksDirectory(project, directory) : undefined;
  if (hooks !== undefined) mounts.push({ type: 'bind', source: hooks, target: hooks, readOnly: true });
  return mounts;
}

/**
 * What was looked at under each path that is to be mounted. An engine mounts what a path names at that later moment,
 * and another sandbox may be able to exchange a folder for a link in between: so the supervisor compares (S17). Only
 * where the engine's files are this machine's own.
 */
export async function mountedFolders(
  engine: Engine,
  project: CanonicalPath,
  mounts: readonly MountSpec[],
): Promise<SandboxConfig['mounted']> {
  const sameFiles =
    engine.local && process.platform === 'linux' && !engine.address.includes('/.docker/desktop/');
  if (!sameFiles) return [];
  const paths = [project, ...mounts.map(({ source }) => source)];
  return Promise.all(
    paths.map(async (path) => ({ path, inode: String((await stat(path, { bigint: true })).ino) })),
  );
}
