/** `acquireWorkRun` for a known work root: a lease, and before it is handed out the tenant's retention (W3, W7). */
import { systemClock } from '../lib/clock.ts';
import { PiSandboxError } from '../lib/errors.ts';
import { type HeldRun, heldRun } from './held-run.ts';
import { leaseRun, type Wanted, wanted } from './lease-run.ts';
import { makeRoot, openRoot, openTenant } from './places.ts';
import { pruneTenant } from './prune.ts';
import { retentionOf } from './retention.ts';
import { wasPruned } from './tidy.ts';
import type { WorkNeeds, WorkRetention, WorkRunRequest } from './types.ts';

/** The default retention is applied no more often than that, whoever acquires. */
const PRUNE_EVERY_MS = 60 * 60_000;

/**
 * Leases a run: a new one, or the one of that name. Makes the work root where there is none.
 *
 * @param rootPath absolute, without links
 * @throws InvalidWorkNameError, RetentionError, UnownedDirectoryError, WorkBusyError, FileError
 */
export async function acquireRun(
  rootPath: string,
  request: WorkRunRequest,
  needs: WorkNeeds = {},
): Promise<HeldRun> {
  const want = wanted(request);
  const retention = request.retention && retentionOf(request.retention);
  const root = await makeRoot(rootPath);
  try {
    const run = heldRun(rootPath, await leaseRun(root, want, needs), needs);
    try {
      await applyRetention(rootPath, want, retention, needs);
    } catch (error) {
      run.releaseNow();
      throw error;
    }
    return run;
  } finally {
    root.close();
  }
}

/**
 * The run is held by now, so nothing of this takes it. Whatever goes wrong keeps nobody from their work: the log and
 * the next prune say it.
 */
async function applyRetention(
  rootPath: string,
  name: Wanted,
  asked: WorkRetention | undefined,
  needs: WorkNeeds,
): Promise<void> {
  const { clock = systemClock } = needs;
  try {
    if (asked === undefined && isFresh(rootPath, name, clock.now())) return;
    // Whoever prunes now does the same work.
    await pruneTenant(rootPath, name, asked ?? retentionOf(), { ...needs, waitMs: asked ? 1_000 : 0 });
  } catch (error) {
    if (!(error instanceof PiSandboxError)) throw error;
  }
}

function isFresh(rootPath: string, { category, tenant }: Wanted, now: Date): boolean {
  const root = openRoot(rootPath);
  const directory = root && openTenant(root, category, tenant);
  try {
    return directory === undefined || wasPruned(directory, now, PRUNE_EVERY_MS);
  } finally {
    directory?.close();
    root?.close();
  }
}
