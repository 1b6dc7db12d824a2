import { type JobPruneReport, pruneJobs } from '../../jobs/index.ts';
import { ConfigError } from '../../lib/errors.ts';
import { jsonText } from '../../lib/json-text.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { bytes, duration, table } from '../../lib/table.ts';
import { jobContext } from './context.ts';
import { jobJson } from './job-json.ts';

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 30;
const RETENTION = 'SESSIONS_RETENTION_DAYS';

interface PruneVerbOptions {
  /** Milliseconds. */
  readonly olderThan?: number;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** Removes jobs that ended longer ago than the history of the domain is kept (J14); exit code 1 when one stays. */
export async function prune({ olderThan, dryRun = false, json = false }: PruneVerbOptions): Promise<number> {
  const { place, project, deps, env } = await jobContext();
  const olderThanMs = olderThan ?? retentionMs(env);
  const report = await pruneJobs(place, project, { ...deps, olderThanMs, dryRun });
  process.stdout.write(json ? jsonOf(report, dryRun) : textOf(report, dryRun, deps.clock.now().getTime()));
  for (const { job, reason } of json ? [] : report.failed) {
    process.stderr.write(`multi-agent: ${safeForTerminal(`${job} stays: ${reason}`)}\n`);
  }
  return report.failed.length > 0 ? 1 : 0;
}

/** As long as Sessions; 0 keeps everything. */
function retentionMs(env: NodeJS.ProcessEnv): number | undefined {
  const given = env[RETENTION] ?? String(DEFAULT_DAYS);
  if (!/^\d{1,5}$/.test(given))
    throw new ConfigError(RETENTION, `${JSON.stringify(given)} is no number of days`);
  return given === '0' ? undefined : Number(given) * DAY_MS;
}

function jsonOf({ removed, failed, kept, leftovers }: JobPruneReport, dryRun: boolean): string {
  const jobs = removed.map(({ job, bytes: size }) => ({ ...jobJson(job), bytes: size }));
  return `${jsonText({ version: 1, dryRun, removed: jobs, failed, kept, leftovers }, 2)}\n`;
}

function textOf({ removed, kept, leftovers }: JobPruneReport, dryRun: boolean, now: number): string {
  const rows = removed.map(({ job, bytes: size }) => [
    job.record.name,
    job.status,
    `${duration(now - Date.parse(job.endedAt ?? job.startedAt ?? job.record.createdAt))} ago`,
    dryRun ? '-' : bytes(size),
  ]);
  const listed = rows.length === 0 ? '' : table(['job', 'status', 'ended', 'size'], rows);
  const more = leftovers > 0 ? `, and ${leftovers} that were never finished` : '';
  return `${listed}${dryRun ? 'would remove' : 'removed'} ${removed.length}, kept ${kept}${more}\n`;
}
