/**
 * Leases: a marker for each holder in a run's `.leases/`, held by a kernel lock for the holder's life (W5, rule 1). What
 * stands in a marker is for people and decides nothing; so a process number that somebody else has by now keeps nothing
 * in use, and a holder in another container counts.
 */
import { hostname } from 'node:os';
import { entriesOf, unlinkChild } from '../lib/directory-entries.ts';
import { type DirectoryHandle, makeChildDirectory, openChildDirectory } from '../lib/directory-handle.ts';
import { hasCode, messageOf } from '../lib/errors.ts';
import type { RandomSource } from '../lib/ids.ts';
import { isHeld, type KernelLock, takeLock, tryLock } from '../lib/kernel-lock.ts';
import { type LockRecord, mayBeLockRecord, readLockRecord } from '../lib/lock-record.ts';
import { isMarker, LEASES, markerName } from './layout.ts';
import { ifThere } from './places.ts';

/** More markers than that in one run are not looked at, and it counts as in use. */
const MOST_MARKERS = 4_096;

export interface Lease {
  readonly marker: string;
  readonly lock: KernelLock;
}

/** Who holds a run, and what keeps it in use without being a lease of ours. */
export interface Holders {
  readonly active: boolean;
  readonly held: readonly LockRecord[];
  /** Markers that cannot be read or are not ours: they count as held (W5). */
  readonly foreign: readonly { name: string; reason: string }[];
}

/** This process, for people (rule 1). */
export function holderRecord(what: string, now: Date): LockRecord {
  return {
    pid: process.pid,
    // A container's host name is a number; its sandbox has a name.
    host: (process.env.PI_SANDBOX_NAME ?? hostname()).slice(0, 200),
    startedAt: now.toISOString(),
    what,
  };
}

/** Opens `.leases/`, and makes it where it is missing. */
export function openLeases(run: DirectoryHandle): DirectoryHandle {
  return ifThere(() => openChildDirectory(run, LEASES)) ?? makeChildDirectory(run, LEASES);
}

/**
 * Adds a marker of this process and holds it.
 *
 * @throws FileError (`code` ENOENT when the run was moved away and deleted meanwhile)
 */
export async function takeLease(
  leases: DirectoryHandle,
  record: LockRecord,
  random?: RandomSource,
): Promise<Lease> {
  const marker = markerName(random);
  return { marker, lock: await takeLock(leases.at(marker), { record }) };
}

/** Ends a lease; the marker goes with it. */
export function dropLease(leases: DirectoryHandle, { marker, lock }: Lease): void {
  try {
    unlinkChild(leases, marker);
  } catch (error) {
    // Deleted by hand, or in a run that was made read-only; the kernel frees the lock either way.
    if (!hasCode(error, 'ENOENT', 'EACCES')) throw error;
  } finally {
    lock.release();
  }
}

/**
 * Who holds a run. A marker that nobody holds is a dead one's; everything in `.leases/` that is no marker of ours, or
 * cannot be probed, counts as held (W5).
 *
 * @param whole look at all of them; otherwise only until the answer is known
 */
export function holdersOf(run: DirectoryHandle, { whole = false } = {}): Holders {
  let leases: DirectoryHandle;
  try {
    leases = openChildDirectory(run, LEASES);
  } catch (error) {
    // Every run is made with it. Where somebody removed it, a holder's lock may go on unseen.
    const reason = hasCode(error, 'ENOENT') ? 'it is missing' : messageOf(error);
    return { active: true, held: [], foreign: [{ name: LEASES, reason }] };
  }
  try {
    return holdersIn(leases, whole);
  } finally {
    leases.close();
  }
}

function holdersIn(leases: DirectoryHandle, whole: boolean): Holders {
  const held: LockRecord[] = [];
  const foreign: { name: string; reason: string }[] = [];
  let active = false;
  let seen = 0;
  for (const { name } of entriesOf(leases)) {
    if (++seen > MOST_MARKERS) {
      foreign.push({ name: '…', reason: `it has more than ${MOST_MARKERS} lease markers` });
      break;
    }
    const state = stateOf(leases, name);
    if (state === 'dead') continue;
    active = true;
    if (typeof state === 'object' && 'reason' in state) foreign.push({ name, ...state });
    else held.push(state.record);
    if (!whole) break;
  }
  return { active: active || foreign.length > 0, held, foreign };
}

const UNKNOWN: LockRecord = { pid: 0, host: '', startedAt: '', what: 'a holder that left no record' };

function stateOf(
  leases: DirectoryHandle,
  name: string,
): 'dead' | { record: LockRecord } | { reason: string } {
  if (!isMarker(name)) return { reason: 'it is no lease marker' };
  try {
    const path = leases.at(name);
    if (isHeld(path)) return { record: readLockRecord(path) ?? UNKNOWN };
    // A crash or a full disk may have taken a part of it.
    return mayBeLockRecord(path) ? 'dead' : { reason: 'its content is no lease' };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 'dead';
    return { reason: messageOf(error) };
  }
}

/**
 * Removes the markers of the dead, so that a name that many use does not collect them. Only under the gate, where no
 * marker is between being made and being held.
 */
export function clearDeadLeases(leases: DirectoryHandle): void {
  let seen = 0;
  for (const { name } of entriesOf(leases)) {
    if (stateOf(leases, name) !== 'dead') continue;
    if (++seen > MOST_MARKERS) return;
    const lock = tryLock(leases.at(name));
    if (lock) dropLease(leases, { marker: name, lock });
  }
}
