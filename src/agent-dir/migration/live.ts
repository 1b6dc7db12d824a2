/**
 * Who is alive on a shared agent directory, by kernel locks alone (rule 1): each sandbox holds one byte of `.live.lock`,
 * chosen at random, for as long as its supervisor lives. Whoever can hold all the other bytes is alone.
 */
import { type Clock, systemClock } from '../../lib/clock.ts';
import type { DirectoryHandle } from '../../lib/directory-handle.ts';
import { type RandomSource, randomId } from '../../lib/ids.ts';
import { type KernelLock, LockTakenError, takeLock } from '../../lib/kernel-lock.ts';

const LIVE_LOCK = '.live.lock';
/** As hexadecimal digits a number that a double holds exactly, and so large that two never choose the same. */
const PLACE_BYTES = 6;

export interface LiveMark {
  /** The byte that is held. A program of the same sandbox hands it to {@link holdOthersOff}. */
  readonly place: number;
  release(): void;
}

interface Waiting {
  readonly waitMs?: number;
  readonly clock?: Clock;
}

/**
 * Marks this process as alive, until it ends or releases the mark.
 *
 * @throws LockTakenError when a migration holds everything for longer than `waitMs` (250)
 */
export async function markLive(
  directory: DirectoryHandle,
  { random, ...waiting }: Waiting & { random?: RandomSource } = {},
): Promise<LiveMark> {
  const place = 1 + Number.parseInt(randomId(PLACE_BYTES, random), 16);
  const lock = await takePart(directory, place, 1, waiting);
  return { place, release: () => lock.release() };
}

/**
 * Keeps everyone else from being alive here, or gives undefined when somebody is.
 *
 * @param own the place of the caller's own sandbox
 */
export async function holdOthersOff(
  directory: DirectoryHandle,
  own: number | undefined,
  waiting: Waiting = {},
): Promise<KernelLock | undefined> {
  const parts = own === undefined ? [[0, 0] as const] : [[0, own] as const, [own + 1, 0] as const];
  const held: KernelLock[] = [];
  const release = (): void => {
    for (const lock of held) lock.release();
  };
  try {
    for (const [offset, length] of parts) held.push(await takePart(directory, offset, length, waiting));
  } catch (error) {
    release();
    if (error instanceof LockTakenError) return undefined;
    throw error;
  }
  return { path: directory.path, release };
}

function takePart(
  directory: DirectoryHandle,
  offset: number,
  length: number,
  { waitMs, clock = systemClock }: Waiting,
): Promise<KernelLock> {
  const range = { offset, length };
  return takeLock(directory.at(LIVE_LOCK), { range, clock, ...(waitMs === undefined ? {} : { waitMs }) });
}
