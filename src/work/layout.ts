/**
 * Names on disk that are ours. All begin with a dot, as no category, tenant or run can (W2), so none is ever taken for
 * one of those. README.md shows where each lies.
 */
import { type RandomSource, randomId } from '../lib/ids.ts';

/** In the work root: what the room keeps for all tenants. */
export const OWN_DIRECTORY = '.pi-work';
/** In {@link OWN_DIRECTORY}: held by whoever prunes. */
export const PRUNE_LOCK = 'prune.lock';
/** In {@link OWN_DIRECTORY}. */
export const LOG_FILE = 'deletions.log';

/** In a tenant: an empty file whose mtime is when it was last pruned. */
export const PRUNED_STAMP = '.pi-work-pruned';

/**
 * In a run: what it is. Its mtime is when the run was last used (W4, W7). Its kernel lock is the run's gate: held by
 * whoever joins the run, or removes it (W6).
 */
export const MANIFEST = '.pi-work-run.json';
/** In a run: a marker for each holder (W5). */
export const LEASES = '.leases';
const HEX = '[0-9a-f]{32}';
const BUILDING = new RegExp(`^\\.building-${HEX}$`);
const TOMBSTONE = new RegExp(`^\\.tombstone-${HEX}$`);
const MARKER = new RegExp(`^${HEX}\\.lease$`);

/** In a tenant: a run that is being built, until it is renamed into its place (W4). */
export function buildingName(random?: RandomSource): string {
  return `.building-${randomId(16, random)}`;
}

export function isBuilding(name: string): boolean {
  return BUILDING.test(name);
}

/** In a tenant: what was a run and is being deleted (W6). */
export function tombstoneName(random?: RandomSource): string {
  return `.tombstone-${randomId(16, random)}`;
}

export function isTombstone(name: string): boolean {
  return TOMBSTONE.test(name);
}

export function markerName(random?: RandomSource): string {
  return `${randomId(16, random)}.lease`;
}

export function isMarker(name: string): boolean {
  return MARKER.test(name);
}
