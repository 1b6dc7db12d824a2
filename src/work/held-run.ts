/** A lease as its holder has it: `touch` and `release` (W3, W5). */
import { lstatSync } from 'node:fs';
import { systemClock } from '../lib/clock.ts';
import type { DirectoryHandle } from '../lib/directory-handle.ts';
import { hasCode } from '../lib/errors.ts';
import { FileError } from '../lib/file-error.ts';
import type { LeasedRun } from './build.ts';
import { WorkRunGoneError } from './errors.ts';
import { dropLease, openLeases } from './lease.ts';
import { stampLastUse } from './manifest.ts';
import type { WorkRunName } from './names.ts';
import { ifThere, pathOf } from './places.ts';
import { removeAsked } from './remove-asked.ts';
import type { ReleaseOptions, WorkNeeds, WorkRun } from './types.ts';

/** The public side of a lease, and the one that a process uses when it ends. */
export interface HeldRun extends WorkRun {
  isHeld(): boolean;
  /** Whether the directory that is held is still the one at its path. */
  stands(): boolean;
  /** As `release()`, without waiting: what a process may still do in its last moment. */
  releaseNow(): void;
}

/** @param root the work root's real path */
export function heldRun(
  root: string,
  { directory, lease, name }: LeasedRun & { name: WorkRunName },
  needs: WorkNeeds,
): HeldRun {
  const { clock = systemClock } = needs;
  const path = pathOf(root, name);
  let held = true;
  const stands = (): boolean => {
    try {
      const there = lstatSync(path, { throwIfNoEntry: false });
      return there?.ino === directory.inode && there.dev === directory.device;
    } catch (error) {
      throw new FileError('look at', path, error);
    }
  };
  const releaseNow = (): void => {
    if (!held) return;
    held = false;
    try {
      letGo(directory, lease, clock.now());
    } finally {
      directory.close();
    }
  };
  return {
    path,
    runId: name.runId,
    isHeld: () => held,
    stands,
    async touch() {
      if (!held || !stands()) throw new WorkRunGoneError(path);
      goneIfMissing(path, () => stampLastUse(directory, clock.now()));
    },
    async release({ delete: remove = false }: ReleaseOptions = {}) {
      if (!remove) {
        releaseNow();
        return { deleted: false };
      }
      try {
        return { deleted: await removeAsked(root, name, needs, releaseNow) };
      } finally {
        releaseNow();
      }
    },
    releaseNow,
  };
}

/** The end of the lease counts as use. Whatever of the run is gone by now, the lock is let go. */
function letGo(directory: DirectoryHandle, lease: LeasedRun['lease'], now: Date): void {
  try {
    stampIfThere(directory, now);
    const leases = ifThere(() => openLeases(directory));
    if (leases === undefined) return;
    try {
      dropLease(leases, lease);
    } finally {
      leases.close();
    }
  } finally {
    lease.lock.release();
  }
}

function stampIfThere(directory: DirectoryHandle, now: Date): void {
  try {
    stampLastUse(directory, now);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}

function goneIfMissing(path: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) throw new WorkRunGoneError(path);
    throw error;
  }
}
