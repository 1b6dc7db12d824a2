/** Taking a lease on a run: a new one, or one that others share by its name (W4, W5). */

import { systemClock } from '../lib/clock.ts';
import { statChild } from '../lib/directory-entries.ts';
import { type DirectoryHandle, openChildDirectory } from '../lib/directory-handle.ts';
import { hasCode } from '../lib/errors.ts';
import { type RandomSource, randomId } from '../lib/ids.ts';
import { LockTakenError } from '../lib/kernel-lock.ts';
import { retryUntil } from '../lib/retry.ts';
import { buildRun, type LeasedRun } from './build.ts';
import { UnownedDirectoryError, WorkBusyError } from './errors.ts';
import { clearDeadLeases, dropLease, holderRecord, openLeases, takeLease } from './lease.ts';
import { readManifest, stampLastUse, tryGate } from './manifest.ts';
import { runPath, type WorkRunName, type WorkSegment, workSegment } from './names.ts';
import { ifThere, makeTenant, pathOf, standsAt } from './places.ts';
import type { WorkNeeds, WorkRunRequest } from './types.ts';

const WAIT_MS = 10_000;
/** So long for one look; whoever removes the run has its gate until nothing of it is left. */
const GATE_MS = 250;

/** What a caller asked for, checked. */
export interface Wanted {
  readonly category: WorkSegment;
  readonly tenant: WorkSegment;
  /** Undefined for a new run of its own. */
  readonly runId: WorkSegment | undefined;
}

/** @throws InvalidWorkNameError */
export function wanted({ category, tenant, runId }: WorkRunRequest): Wanted {
  return {
    category: workSegment('category', category),
    tenant: workSegment('tenant', tenant),
    runId: runId === undefined ? undefined : workSegment('run id', runId),
  };
}

/**
 * Leases a run, and makes it where it is missing.
 *
 * @throws UnownedDirectoryError, WorkBusyError, FileError
 */
export async function leaseRun(
  root: DirectoryHandle,
  { category, tenant, runId }: Wanted,
  needs: WorkNeeds,
): Promise<LeasedRun & { name: WorkRunName }> {
  const { clock = systemClock, random, waitMs = WAIT_MS, signal } = needs;
  const attempt = async () => {
    const name = { category, tenant, runId: runId ?? newRunId(clock.now(), random) };
    const parent = ifThere(() => makeTenant(root, category, tenant));
    if (parent === undefined) return undefined;
    try {
      const leased = await leaseIn(parent, name, needs);
      return leased && { ...leased, name };
    } finally {
      parent.close();
    }
  };
  const options = { deadlineMs: waitMs, clock, firstPauseMs: 1, ...(signal ? { signal } : {}) };
  const leased = await retryUntil(attempt, options);
  if (leased) return leased;
  const path = pathOf(root.path, { category, tenant, runId: runId ?? tenant });
  throw new WorkBusyError(path, 'is being joined or removed by others', waitMs);
}

/** Sorts by time, and is nobody else's: 48 random bits in one second of one tenant. */
function newRunId(now: Date, random?: RandomSource): WorkSegment {
  const [day = '', time = ''] = now.toISOString().replace(/[-:]/g, '').split('T');
  return workSegment('run id', `${day}-${time.slice(0, 6)}-${randomId(6, random)}`);
}

/** Undefined: try again. */
async function leaseIn(
  tenant: DirectoryHandle,
  name: WorkRunName,
  needs: WorkNeeds,
): Promise<LeasedRun | undefined> {
  const { clock = systemClock } = needs;
  if (statChild(tenant, name.runId) !== undefined) return joinRun(tenant, name, needs);
  const built = await buildRun(tenant, name, clock.now(), needs);
  if (built === 'again') return undefined;
  // Somebody else was quicker with the same name.
  return built === 'taken' ? joinRun(tenant, name, needs) : built;
}

async function joinRun(
  tenant: DirectoryHandle,
  name: WorkRunName,
  needs: WorkNeeds,
): Promise<LeasedRun | undefined> {
  const directory = openNamed(tenant, name);
  if (directory === undefined) return undefined;
  let joined: LeasedRun | undefined;
  try {
    const manifest = readManifest(directory, name);
    if (manifest.kind === 'unowned') {
      // One that is being deleted loses its manifest too, but has not stood at this name since before that.
      if (!standsAt(tenant, name.runId, directory)) return undefined;
      throw new UnownedDirectoryError(directory.path, manifest.reason);
    }
    joined = await joinOwned(tenant, name, directory, needs);
    return joined;
  } finally {
    if (joined === undefined) directory.close();
  }
}

function openNamed(tenant: DirectoryHandle, { runId }: WorkRunName): DirectoryHandle | undefined {
  try {
    return openChildDirectory(tenant, runId);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    if (!hasCode(error, 'ENOTDIR', 'ELOOP')) throw error;
    throw new UnownedDirectoryError(`${tenant.path}/${runId}`, 'it is no directory');
  }
}

/**
 * The marker is added under the gate, and the run is looked for at its place once more before: a cleanup holds the same
 * gate from its look at the leases until it has moved the run away (W6).
 */
async function joinOwned(
  tenant: DirectoryHandle,
  name: WorkRunName,
  directory: DirectoryHandle,
  { clock = systemClock, random, between }: WorkNeeds,
): Promise<LeasedRun | undefined> {
  try {
    const leases = openLeases(directory);
    try {
      between?.('opened the run');
      const record = holderRecord(`work run ${runPath(name)}`, clock.now());
      const gate = await retryUntil(() => tryGate(directory), { deadlineMs: GATE_MS, clock });
      if (gate === undefined) return undefined;
      try {
        if (!standsAt(tenant, name.runId, directory)) return undefined;
        clearDeadLeases(leases);
        const lease = await takeLease(leases, record, random);
        try {
          stampLastUse(directory, clock.now());
        } catch (error) {
          dropLease(leases, lease);
          throw error;
        }
        return { directory, lease };
      } finally {
        gate.release();
      }
    } finally {
      leases.close();
    }
  } catch (error) {
    // It was moved away and deleted under us, or our marker is being looked at: both pass.
    if (hasCode(error, 'ENOENT') || error instanceof LockTakenError) return undefined;
    throw error;
  }
}
