/** Removing one run because its holder asked for it (W7). */
import { systemClock } from '../lib/clock.ts';
import { syncDirectory } from '../lib/directory-entries.ts';
import { type DirectoryHandle, makeChildDirectory } from '../lib/directory-handle.ts';
import { retryUntil } from '../lib/retry.ts';
import { announce, appendLog } from './deletion-log.ts';
import { OWN_DIRECTORY } from './layout.ts';
import { runPath, type WorkRunName } from './names.ts';
import { openRoot, openTenant } from './places.ts';
import { deleteInTurns, entomb, leaveTombstone } from './remove.ts';
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
  const root = openRoot(rootPath);
  const tenant = root && openTenant(root, name.category, name.tenant);
  const own = tenant && root && makeChildDirectory(root, OWN_DIRECTORY);
  try {
    return tenant !== undefined && own !== undefined && (await remove(own, tenant, name, needs, letGo));
  } finally {
    own?.close();
    tenant?.close();
    root?.close();
  }
}

async function remove(
  own: DirectoryHandle,
  tenant: DirectoryHandle,
  name: WorkRunName,
  needs: WorkNeeds,
  letGo: () => void,
): Promise<boolean> {
  const { clock = systemClock } = needs;
  const run = runPath(name);
  const lastUse = clock.now().toISOString();
  const waiting = await announce(own, [{ event: 'removing', run, why: 'asked', lastUse }], clock.now());
  const attempt = () => {
    const result = entomb(tenant, name, { ...needs, first: letGo });
    return result === 'busy' ? undefined : result;
  };
  const result = (await retryUntil(attempt, { deadlineMs: GATE_MS, clock, firstPauseMs: 1 })) ?? 'busy';
  if (typeof result === 'string') {
    await appendLog(own, [...waiting, { event: 'kept', run, reason: result }], clock.now(), { sync: false });
    return false;
  }
  try {
    syncDirectory(tenant);
    const { bytes, entries, obstacle } = await deleteInTurns(tenant, result, { measure: true });
    const end = obstacle
      ? ({ event: 'unfinished', run, reason: obstacle.reason } as const)
      : ({ event: 'removed', run, bytes, entries } as const);
    await appendLog(own, [...waiting, end], clock.now(), { sync: false });
    return true;
  } finally {
    leaveTombstone(result);
  }
}
