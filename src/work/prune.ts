/** Retention: of one tenant, or of all, also of those that nobody acquires any more (W7). */
import type { DirectoryHandle } from '../lib/directory-handle.ts';
import { overSize } from './decide.ts';
import { openTenant } from './places.ts';
import { type Kept, pruneOneTenant } from './prune-tenant.ts';
import { pruning as inPrune, type PruneOptions, type Pruning } from './pruning.ts';
import { removeRuns, reportFailure } from './remove-runs.ts';
import { TOTAL_BYTES } from './retention.ts';
import type { TenantName } from './survey.ts';
import { tenantsOf } from './tenants.ts';
import { tidyTenant } from './tidy.ts';
import type { PruneReport, WorkRetention } from './types.ts';

/**
 * Applies a retention to one tenant.
 *
 * @throws WorkBusyError, FileError
 */
export function pruneTenant(
  rootPath: string,
  name: TenantName,
  retention: WorkRetention,
  options: PruneOptions = {},
): Promise<PruneReport> {
  return inPrune(rootPath, options, async (pruning) => {
    await inTenant(pruning, name, (tenant) => pruneOneTenant(pruning, tenant, name, retention));
    tidyTenant(pruning, name);
  });
}

/**
 * Applies a retention to every tenant, and then the limit of all together.
 *
 * @param totalBytes what all tenants together may keep
 * @throws WorkBusyError, FileError
 */
export function pruneAll(
  rootPath: string,
  retention: WorkRetention,
  { totalBytes = TOTAL_BYTES, ...options }: PruneOptions & { totalBytes?: number } = {},
): Promise<PruneReport> {
  return inPrune(rootPath, options, async (pruning) => {
    const names = tenantsOf(pruning.root, pruning.report);
    const kept: Kept[] = [];
    for (const name of names) {
      try {
        const runs = await inTenant(pruning, name, (tenant) =>
          pruneOneTenant(pruning, tenant, name, retention),
        );
        kept.push(...(runs ?? []));
      } catch (error) {
        // One tenant that cannot be read keeps no other from being pruned.
        reportFailure(pruning, `${name.category}/${name.tenant}`, error);
      }
    }
    await applyTotal(pruning, kept, totalBytes);
    for (const name of names) tidyTenant(pruning, name);
  });
}

async function inTenant<T>(
  { root }: Pruning,
  { category, tenant }: TenantName,
  work: (tenant: DirectoryHandle) => Promise<T>,
): Promise<T | undefined> {
  const opened = openTenant(root, category, tenant);
  if (opened === undefined) return undefined;
  try {
    return await work(opened);
  } finally {
    opened.close();
  }
}

/** The limit of all tenants together, by the same preferences as that of one. */
async function applyTotal(pruning: Pruning, kept: readonly Kept[], totalBytes: number): Promise<void> {
  const idOf = ({ name, run }: Kept): string => `${name.category}/${name.tenant}/${run.runId}`;
  const facts = kept.map((one) => ({
    id: idOf(one),
    active: false,
    lastUse: one.lastUse,
    size: { bytes: one.bytes, complete: true },
  }));
  const going = new Set(overSize(facts, totalBytes, 'total').map(({ id }) => id));
  const byTenant = Map.groupBy(
    kept.filter((one) => going.has(idOf(one))),
    ({ name }) => name,
  );
  for (const [name, runs] of byTenant) {
    const victims = runs.map(({ run, bytes }) => ({ run, why: 'total' as const, bytes }));
    let gone: Set<string> | undefined;
    try {
      gone = await inTenant(pruning, name, (tenant) => removeRuns(pruning, tenant, name, victims));
    } catch (error) {
      reportFailure(pruning, `${name.category}/${name.tenant}`, error);
    }
    for (const { run, bytes } of runs) {
      if (!gone?.has(run.runId)) continue;
      pruning.report.kept--;
      pruning.report.keptBytes -= bytes;
    }
  }
}
