/** What ended processes left in a tenant: deletions half way, and runs that were never put into their place (W4, W6). */
import { join } from 'node:path';
import { renameChild, statChild } from '../lib/directory-entries.ts';
import { type DirectoryHandle, openChildDirectory } from '../lib/directory-handle.ts';
import { clearBuilding } from './build.ts';
import { announce, appendLog } from './deletion-log.ts';
import { buildingName, LEASES } from './layout.ts';
import { holdersOf } from './lease.ts';
import { isGateHeld } from './manifest.ts';
import { runPath } from './names.ts';
import { ifThere } from './places.ts';
import { addProblem } from './problems.ts';
import type { Pruning } from './pruning.ts';
import { deleteInTurns, leaveTombstone, openTombstone } from './remove.ts';
import { endOf, reportFailure } from './remove-runs.ts';
import type { Survey, TenantName } from './survey.ts';

/** Finishes and clears what is nobody's any more; what some process is still at stays. */
export async function seeToLeftovers(
  pruning: Pruning,
  tenant: DirectoryHandle,
  name: TenantName,
  { tombstones, buildings }: Survey,
): Promise<void> {
  if (pruning.own === undefined) return;
  for (const tombstone of tombstones) {
    const path = join(name.category, name.tenant, tombstone);
    try {
      await resume({ ...pruning, own: pruning.own }, tenant, name, tombstone, path);
    } catch (error) {
      reportFailure(pruning, path, error);
    }
  }
  for (const building of buildings) {
    const path = join(name.category, name.tenant, building);
    try {
      clearAbandoned(pruning, tenant, building, path);
    } catch (error) {
      reportFailure(pruning, path, error);
    }
  }
}

async function resume(
  pruning: Pruning & { own: DirectoryHandle },
  tenant: DirectoryHandle,
  name: TenantName,
  tombstone: string,
  path: string,
): Promise<void> {
  const { own, now, turn, report } = pruning;
  const opened = openTombstone(tenant, name, tombstone);
  if (opened === 'gone' || opened === 'busy') return;
  if ('unowned' in opened) {
    addProblem(report.problems, { path, kind: 'unowned', reason: opened.unowned });
    return;
  }
  try {
    const run = opened.run ? runPath(opened.run) : path;
    const waiting = await announce(own, [{ event: 'resuming', run }], now);
    const deletion = await deleteInTurns(tenant, opened, { measure: true, turn });
    const end = endOf(pruning, run, path, deletion, deletion.bytes);
    await appendLog(own, [...waiting, end], now, { sync: false });
  } finally {
    leaveTombstone(opened);
  }
}

function clearAbandoned(pruning: Pruning, tenant: DirectoryHandle, building: string, path: string): void {
  const { active, foreign } = holdersOfBuilding(tenant, building);
  const [strange] = foreign;
  if (strange) addProblem(pruning.report.problems, { path, kind: 'lease', reason: strange.reason });
  if (active) return;
  pruning.needs.between?.('clears a building');
  // Renamed first: should somebody be building it after all, it cannot be put into its place any more.
  const claimed = buildingName(pruning.needs.random);
  renameChild(tenant, building, tenant, claimed);
  if (clearBuilding(tenant, claimed)) return;
  const reason = `there is something in it that no run begins with (now ${claimed})`;
  addProblem(pruning.report.problems, { path, kind: 'unowned', reason });
}

function holdersOfBuilding(tenant: DirectoryHandle, building: string): ReturnType<typeof holdersOf> {
  const directory = openChildDirectory(tenant, building);
  try {
    return buildersOf(directory);
  } finally {
    directory.close();
  }
}

/** One that has no leases yet is nobody's; a builder that is just about to take one builds again. */
function buildersOf(building: DirectoryHandle): ReturnType<typeof holdersOf> {
  if (statChild(building, LEASES) === undefined) return { active: false, held: [], foreign: [] };
  return holdersOf(building);
}

/** How many of them nobody is at any more. Changes nothing. */
export function countLeftovers(tenant: DirectoryHandle, { tombstones, buildings }: Survey): number {
  const isLeft = (name: string, held: (directory: DirectoryHandle) => boolean): boolean => {
    const directory = ifThere(() => openChildDirectory(tenant, name));
    if (directory === undefined) return false;
    try {
      return !held(directory);
    } finally {
      directory.close();
    }
  };
  return (
    buildings.filter((name) => isLeft(name, (directory) => buildersOf(directory).active)).length +
    tombstones.filter((name) => isLeft(name, isGateHeld)).length
  );
}
