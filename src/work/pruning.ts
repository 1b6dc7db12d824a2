/** What the steps of a prune share: its report, and the lock under which one process at a time prunes a work root. */
import { boundedList } from '../lib/bounded-list.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { type DirectoryHandle, makeChildDirectory } from '../lib/directory-handle.ts';
import { type KernelLock, LockTakenError, takeLock } from '../lib/kernel-lock.ts';
import { turns } from '../lib/turns.ts';
import { rotateLog } from './deletion-log.ts';
import { WorkBusyError } from './errors.ts';
import { OWN_DIRECTORY, PRUNE_LOCK } from './layout.ts';
import { holderRecord } from './lease.ts';
import { openRoot } from './places.ts';
import type { PruneReport, WorkNeeds } from './types.ts';

const WAIT_MS = 30_000;

export interface PruneOptions extends WorkNeeds {
  /** Change nothing, and say what would be changed. */
  readonly dryRun?: boolean;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

export interface Pruning {
  readonly root: DirectoryHandle;
  /** The room's own directory; undefined in a dry run, which changes nothing. */
  readonly own: DirectoryHandle | undefined;
  readonly now: Date;
  readonly clock: Clock;
  readonly report: Mutable<PruneReport>;
  readonly turn: ReturnType<typeof turns>;
  readonly needs: WorkNeeds;
}

/**
 * Runs a prune as the only one in this work root. Where there is none, nothing is done and nothing made.
 *
 * @throws WorkBusyError, FileError
 */
export async function pruning(
  rootPath: string,
  { dryRun = false, ...needs }: PruneOptions,
  work: (pruning: Pruning) => Promise<void>,
): Promise<PruneReport> {
  const { clock = systemClock, signal } = needs;
  const report = emptyReport(dryRun);
  const root = openRoot(rootPath);
  if (root === undefined) return report;
  let own: DirectoryHandle | undefined;
  let lock: KernelLock | undefined;
  try {
    const now = clock.now();
    if (!dryRun) {
      own = makeChildDirectory(root, OWN_DIRECTORY);
      lock = await lockPrunes(own, rootPath, now, needs);
      rotateLog(own);
    }
    await work({ root, own, now, clock, report, turn: turns(signal), needs });
    return report;
  } finally {
    lock?.release();
    own?.close();
    root.close();
  }
}

function emptyReport(dryRun: boolean): Mutable<PruneReport> {
  return {
    dryRun,
    removed: boundedList(),
    removedBytes: 0,
    kept: 0,
    active: 0,
    keptBytes: 0,
    problems: boundedList(),
    cut: false,
  };
}

async function lockPrunes(
  own: DirectoryHandle,
  rootPath: string,
  now: Date,
  { waitMs = WAIT_MS, clock, signal }: WorkNeeds,
): Promise<KernelLock> {
  try {
    return await takeLock(own.at(PRUNE_LOCK), {
      waitMs,
      record: holderRecord('prune of work directories', now),
      ...(clock ? { clock } : {}),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (error instanceof LockTakenError) throw new WorkBusyError(rootPath, 'is being pruned', waitMs);
    throw error;
  }
}
