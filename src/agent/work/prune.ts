import { UsageError } from '../../lib/errors.ts';
import { jsonText } from '../../lib/json-text.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { bytes, duration, table } from '../../lib/table.ts';
import {
  type PruneReport,
  pruneAll,
  pruneTenant,
  type RemovalReason,
  retentionOf,
  workSegment,
} from '../../work/index.ts';
import { workRoot } from './work-root.ts';

interface PruneVerbOptions {
  category: string | undefined;
  tenant: string | undefined;
  days?: number;
  runs?: number;
  bytes?: number;
  dryRun?: boolean;
  json?: boolean;
}

const REASONS: Record<RemovalReason, string> = {
  age: 'unused for too long',
  count: 'newer ones are enough',
  bytes: 'its tenant takes too much',
  unmeasured: 'too many entries, too deep, or closed',
  total: 'all tenants together take too much',
  asked: 'asked for',
};

/** Prunes one tenant, or all; exit code 1 when something should have gone and could not. */
export async function prune(options: PruneVerbOptions): Promise<number> {
  const { category, tenant, days, runs, bytes: maxBytes, dryRun = false, json = false } = options;
  const retention = retentionOf({
    ...(days === undefined ? {} : { maxAgeDays: days }),
    ...(runs === undefined ? {} : { maxRuns: runs }),
    ...(maxBytes === undefined ? {} : { maxBytes }),
  });
  const root = workRoot();
  const report =
    category === undefined
      ? await pruneAll(root, retention, { dryRun })
      : await pruneTenant(root, tenantOf(category, tenant), retention, { dryRun });
  process.stdout.write(json ? `${jsonText({ version: 1, root, ...report }, 2)}\n` : textOf(report));
  const failed = report.problems.items.filter(({ kind }) => kind === 'failed' || kind === 'unfinished');
  for (const { path, reason } of json ? [] : failed) {
    process.stderr.write(`pi-work: ${safeForTerminal(path)} stays: ${safeForTerminal(reason)}\n`);
  }
  if (report.cut) process.stderr.write('pi-work: there is more than was looked at: prune again\n');
  return failed.length > 0 ? 1 : 0;
}

function tenantOf(category: string, tenant: string | undefined) {
  if (tenant === undefined)
    throw new UsageError('a category needs a tenant', { hint: 'pi-work prune --help' });
  return { category: workSegment('category', category), tenant: workSegment('tenant', tenant) };
}

function textOf({ removed, removedBytes, dryRun, kept, active, keptBytes }: PruneReport): string {
  const now = Date.now();
  const rows = removed.items.map(({ category, tenant, runId, why, lastUse, bytes: size }) => [
    ...[category, tenant, runId, `${duration(now - lastUse.getTime())} ago`, bytes(size), REASONS[why]],
  ]);
  const listed =
    rows.length === 0 ? '' : table(['category', 'tenant', 'run', 'last use', 'size', 'why'], rows);
  const count = removed.items.length + removed.omitted;
  const more = removed.omitted > 0 ? `… and ${removed.omitted} more\n` : '';
  const done = dryRun ? 'would remove' : 'removed';
  return `${listed}${more}${done} ${count} (${bytes(removedBytes)}), kept ${kept} (${bytes(keptBytes)} free to go later, ${active} in use)\n`;
}
