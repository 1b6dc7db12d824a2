/** Opening what lies between the work root and a run: through handles, and below the root through no link (W1). */
import { join } from 'node:path';
import { makeStateDirectory } from '../lib/atomic-file.ts';
import { statChild } from '../lib/directory-entries.ts';
import {
  type DirectoryHandle,
  makeChildDirectory,
  openChildDirectory,
  openDirectory,
} from '../lib/directory-handle.ts';
import { hasCode } from '../lib/errors.ts';
import { WorkUnsupportedError } from './errors.ts';
import type { WorkRunName, WorkSegment } from './names.ts';

/** Opens the work root; undefined where there is none. Makes nothing. */
export function openRoot(path: string): DirectoryHandle | undefined {
  requirePlatform();
  return ifThere(() => openDirectory(path));
}

/** Opens the work root, and makes it and what is above it where it is missing. */
export async function makeRoot(path: string): Promise<DirectoryHandle> {
  requirePlatform();
  const there = ifThere(() => openDirectory(path));
  if (there) return there;
  await makeStateDirectory(path);
  return openDirectory(path);
}

function requirePlatform(): void {
  if (process.platform === 'win32') throw new WorkUnsupportedError(process.platform);
}

/** Opens a tenant; undefined where there is none. */
export function openTenant(
  root: DirectoryHandle,
  category: WorkSegment,
  tenant: WorkSegment,
): DirectoryHandle | undefined {
  return ifThere(() => below(root, category, tenant, openChildDirectory));
}

/**
 * Opens a tenant, and makes it where it is missing. A prune removes empty tenants, so it may be gone again at once.
 *
 * @throws FileError (`code` ENOENT when it went meanwhile), MountPointError
 */
export function makeTenant(
  root: DirectoryHandle,
  category: WorkSegment,
  tenant: WorkSegment,
): DirectoryHandle {
  return below(root, category, tenant, makeChildDirectory);
}

function below(
  root: DirectoryHandle,
  category: WorkSegment,
  tenant: WorkSegment,
  open: (parent: DirectoryHandle, name: string) => DirectoryHandle,
): DirectoryHandle {
  const parent = open(root, category);
  try {
    return open(parent, tenant);
  } finally {
    parent.close();
  }
}

/** What `open` gives; undefined where there is no such directory. */
export function ifThere<T>(open: () => T): T | undefined {
  try {
    return open();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Whether this very directory still stands at that name, and not another one or none. */
export function standsAt(parent: DirectoryHandle, name: string, directory: DirectoryHandle): boolean {
  const there = statChild(parent, name);
  return there !== undefined && there.ino === directory.inode && there.dev === directory.device;
}

/** The path of a run below a root. */
export function pathOf(root: string, { category, tenant, runId }: WorkRunName): string {
  return join(root, category, tenant, runId);
}
