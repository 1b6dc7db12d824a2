/** Removing one run because its holder asked for it (W7). */
import { systemClock } from '../lib/clock.ts';
import { syncDirectory } from '../lib/directory-entries.ts';
import { type DirectoryHandle, makeChildDirectory } from '../lib/directory-handle.ts';
import { retryUntil } from '../lib/retry.ts';
import { announce, appendLog } from './deletion-log.ts';
import { OWN_DIRECTORY } from './layout.ts';
import { readManifest } from './manifest.ts';
import { runPath, type WorkRunName } from './names.ts';
import { openRoot, openTenant } from './places.ts';
import { deleteInTurns, entomb, leaveTombstone, type Tombstone } from './remove.ts';
import type { WorkNeeds } from './types.ts';

/** A prune that looks at the run, or somebody who joins it, has the gate for milliseconds. */
const GATE_MS = 2_000;

/**
 * Removes a run that nobody else holds.
 *
 * @param letGo ends the caller's own lease, once nobody can join the run any more
 * @returns false when somebody else holds it, or it is not there
 * @throws FileError
 */
export async function removeAsked(
  rootPath: string,
  name: WorkRunName,
  needs: WorkNeeds,
  letGo: () => void,
): Promise<boolean> {
  const { clock = systemClock } = needs;
  const root = openRoot(rootPath);
  const tenant = root && openTenant(root, name.category, name.tenant);
  try {
    if (root === undefined || tenant === undefined) return false;
    const attempt = () => {
      const result = entomb(tenant, name, clock.now(), { ...needs, first: letGo });
      return result === 'busy' ? undefined : result;
    };
    const tombstone = await retryUntil(attempt, { deadlineMs: GATE_MS, clock, firstPauseMs: 1 });
    if (tombstone === undefined || typeof tombstone === 'string') return false;
    await bury(root, tenant, tombstone, name, clock.now());
    return true;
  } finally {
    tenant?.close();
    root?.close();
  }
}

async function bury(
  root: DirectoryHandle,
  tenant: DirectoryHandle,
  tombstone: Tombstone,
  name: WorkRunName,
  now: Date,
): Promise<void> {
  const run = runPath(name);
  const own = makeChildDirectory(root, OWN_DIRECTORY);
  try {
    syncDirectory(tenant);
    const facts = readManifest(tombstone.directory, name);
    const lastUse = new Date(facts.kind === 'ours' ? facts.lastUse : now).toISOString();
    const waiting = await announce(own, [{ event: 'removing', run, why: 'asked', lastUse }], now);
    const { bytes, entries, obstacle } = await deleteInTurns(tenant, tombstone, { measure: true });
    const end = obstacle
      ? ({ event: 'unfinished', run, reason: obstacle.reason } as const)
      : ({ event: 'removed', run, bytes, entries } as const);
    await appendLog(own, [...waiting, end], now, { sync: false });
  } finally {
    leaveTombstone(tombstone);
    own.close();
  }
}
