/**
 * Making a run: built beside its place, leased, and only then renamed into it (W4). So at every moment a directory with
 * a run's name is a whole run that somebody holds, and what a crash leaves has a name that a prune knows and clears.
 */
import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import {
  entriesOf,
  removeEmptyChild,
  statChild,
  syncDirectory,
  unlinkChild,
} from '../lib/directory-entries.ts';
import { type DirectoryHandle, openChildDirectory } from '../lib/directory-handle.ts';
import { hasCode, PiSandboxError } from '../lib/errors.ts';
import { FileError } from '../lib/file-error.ts';
import { LockTakenError } from '../lib/kernel-lock.ts';
import { buildingName, isMarker, LEASES, MANIFEST } from './layout.ts';
import { holderRecord, type Lease, openLeases, takeLease } from './lease.ts';
import { writeManifest } from './manifest.ts';
import { runPath, type WorkRunName } from './names.ts';
import type { WorkNeeds } from './types.ts';

/** A run with the lease that this process has on it. */
export interface LeasedRun {
  readonly directory: DirectoryHandle;
  readonly lease: Lease;
}

export type BuildResult =
  | LeasedRun
  /** Something stands in its place. */
  | 'taken'
  /** A prune took the beginnings for a dead process's, or removed the empty tenant: build it again. */
  | 'again';

/** @throws FileError; nothing of it is left then */
export async function buildRun(
  tenant: DirectoryHandle,
  name: WorkRunName,
  now: Date,
  { random, between }: WorkNeeds,
): Promise<BuildResult> {
  const temporary = buildingName(random);
  try {
    mkdirSync(tenant.at(temporary), { mode: 0o700 });
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 'again';
    throw new FileError('make a work run in', tenant.path, error);
  }
  let lease: Lease | undefined;
  try {
    between?.('made the building');
    lease = await fill(tenant, temporary, name, now, random);
    between?.('built');
    if (statChild(tenant, name.runId) !== undefined) return 'taken';
    renameSync(tenant.at(temporary), tenant.at(name.runId));
    syncDirectory(tenant);
    const built = { directory: openChildDirectory(tenant, name.runId), lease };
    lease = undefined;
    return built;
  } catch (error) {
    if (hasCode(error, 'EEXIST', 'ENOTEMPTY', 'ENOTDIR')) return 'taken';
    if (hasCode(error, 'ENOENT') || error instanceof LockTakenError) return 'again';
    throw error instanceof FileError ? error : new FileError('make', join(tenant.path, name.runId), error);
  } finally {
    if (lease !== undefined) lease.lock.release();
    clearQuietly(tenant, temporary);
  }
}

/** What cannot be cleared now is a prune's. */
function clearQuietly(tenant: DirectoryHandle, name: string): void {
  try {
    clearBuilding(tenant, name);
  } catch (error) {
    if (!(error instanceof PiSandboxError)) throw error;
  }
}

async function fill(
  tenant: DirectoryHandle,
  temporary: string,
  name: WorkRunName,
  now: Date,
  random: WorkNeeds['random'],
): Promise<Lease> {
  const directory = openChildDirectory(tenant, temporary);
  try {
    const leases = openLeases(directory);
    let lease: Lease;
    try {
      lease = await takeLease(leases, holderRecord(`work run ${runPath(name)}`, now), random);
    } finally {
      leases.close();
    }
    try {
      writeManifest(directory, name, now);
      syncDirectory(directory);
      return lease;
    } catch (error) {
      lease.lock.release();
      throw error;
    }
  } finally {
    directory.close();
  }
}

/**
 * Removes what was being built: only the files that a build makes, for nobody was given its path. True when nothing is
 * left of it.
 */
export function clearBuilding(tenant: DirectoryHandle, name: string): boolean {
  if (statChild(tenant, name) === undefined) return true;
  const directory = openChildDirectory(tenant, name);
  try {
    if (statChild(directory, LEASES) !== undefined) {
      const leases = openChildDirectory(directory, LEASES);
      try {
        for (const entry of entriesOf(leases)) {
          if (isMarker(entry.name)) removeFile(leases, entry.name);
        }
      } finally {
        leases.close();
      }
      removeEmptyChild(directory, LEASES);
    }
    removeFile(directory, MANIFEST);
  } finally {
    directory.close();
  }
  return removeEmptyChild(tenant, name);
}

function removeFile(directory: DirectoryHandle, name: string): void {
  try {
    unlinkChild(directory, name);
  } catch (error) {
    // A directory of that name is none of a build's files.
    if (!hasCode(error, 'ENOENT', 'EISDIR', 'EPERM')) throw error;
  }
}
