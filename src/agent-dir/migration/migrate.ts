/** The migration of an agent directory's layout (W10). */
import { realpathSync } from 'node:fs';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { type DirectoryHandle, openDirectory } from '../../lib/directory-handle.ts';
import { hasCode } from '../../lib/errors.ts';
import { FileError } from '../../lib/file-error.ts';
import { LockTakenError, takeLock } from '../../lib/kernel-lock.ts';
import type { AgentDir } from '../agent-directory.ts';
import { SETUP_LOCK } from '../layout.ts';
import { holdOthersOff } from './live.ts';
import { findStragglers, planMoves } from './look.ts';
import { moveStraggler } from './move-root.ts';
import { type MigrationReport, Steps } from './report.ts';
import { stragglers } from './rules.ts';

const MAX_ENTRIES = 10_000;

export interface MigrationOptions {
  /** For a pi that reads `state/trust.json`. Stock pi 1.6 does not: then `trust.json` stays. */
  readonly trustInState?: boolean;
  /** Only says what would be moved, whoever is alive. */
  readonly dryRun?: boolean;
  /** The caller's own place among the living, when it runs in a sandbox (`LiveMark`). */
  readonly own?: number | undefined;
  /** Milliseconds that another start's work on this directory is waited for. */
  readonly waitMs?: number;
  /** Entries of one root that are moved in one run, where it cannot go in one piece. */
  readonly limit?: number;
  readonly clock?: Clock;
}

/** Opens an agent directory: the path to it may be a link, and below it none is followed. Undefined where there is none. */
export function openAgentDir(agentDir: AgentDir): DirectoryHandle | undefined {
  try {
    return openDirectory(realpathSync(agentDir));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error instanceof FileError ? error : new FileError('open directory', agentDir, error);
  }
}

/**
 * Moves what older layouts left at the root to its place, and nothing else: a name that is not known stays. Nothing is
 * overwritten, what collides is kept under `state/migration-conflicts/`, links stay where they are. It runs under the
 * directory's lock, and only while no sandbox but the caller's own is alive on it. Killed at any point, the next run
 * ends what was begun; with nothing to move it writes nothing.
 *
 * @throws FileError when the directory itself cannot be read or locked; what one entry's move meets is in the report
 */
export async function migrateAgentDirLayout(
  top: DirectoryHandle,
  {
    trustInState = false,
    dryRun = false,
    own,
    waitMs,
    limit = MAX_ENTRIES,
    clock = systemClock,
  }: MigrationOptions = {},
): Promise<MigrationReport> {
  const steps = new Steps();
  const found = findStragglers(top, stragglers({ trustInState }), steps);
  if (found.length === 0) return steps.report();
  if (dryRun) {
    planMoves(top, found, steps, limit);
    return steps.report();
  }
  const waiting = { clock, ...(waitMs === undefined ? {} : { waitMs }) };
  let lock: { release(): void };
  try {
    lock = await takeLock(top.at(SETUP_LOCK), waiting);
  } catch (error) {
    if (error instanceof LockTakenError) return busy('another start or migration');
    throw error;
  }
  try {
    const others = await holdOthersOff(top, own, { clock });
    if (others === undefined) return busy('a running sandbox');
    try {
      for (const straggler of found) moveStraggler({ top, steps, limit }, straggler);
    } finally {
      others.release();
    }
  } finally {
    lock.release();
  }
  return steps.report();
}

function busy(busyWith: string): MigrationReport {
  return { ...new Steps().report(), outcome: 'busy', busyWith };
}
