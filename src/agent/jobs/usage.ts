import {
  addUsage,
  below,
  listJobs,
  NO_USAGE,
  readJob,
  readSmall,
  readUsage,
  type Usage,
} from '../../jobs/index.ts';
import { jsonText } from '../../lib/json-text.ts';
import { table } from '../../lib/table.ts';
import { jobContext, jobNamed } from './context.ts';

/** What a job has used in all its runs, and with `--tree` all below it too. */
export async function usage(
  name: string,
  { tree = false, json = false }: { tree?: boolean; json?: boolean },
): Promise<number> {
  const context = await jobContext();
  const { directory } = await jobNamed(context, name);
  const top = await readJob(directory);
  const { jobs } = tree ? await listJobs(context.place, context.project) : { jobs: [] };
  const rows = [];
  let total: Usage = NO_USAGE;
  for (const job of [top, ...below(jobs, directory).reverse()]) {
    const used = await readUsage(job.directory);
    const runs = Number((await readSmall(job.directory, 'runs')) ?? '1');
    rows.push({ name: job.record.name, runs, usage: used ?? null });
    total = addUsage(total, used ?? NO_USAGE);
  }
  if (json) process.stdout.write(`${jsonText({ version: 1, jobs: rows, total }, 2)}\n`);
  else {
    const cells = rows.map((row) => [row.name, String(row.runs), ...cellsOf(row.usage)]);
    const all = rows.length > 1 ? [['total', '', ...cellsOf(total)]] : [];
    process.stdout.write(
      table(['job', 'runs', 'input', 'output', 'cache read', 'cache write', 'cost'], [...cells, ...all]),
    );
  }
  return 0;
}

function cellsOf(usage: Usage | null): string[] {
  if (usage === null) return ['unreadable', '', '', '', ''];
  const { input, output, cacheRead, cacheWrite } = usage.tokens;
  return [...[input, output, cacheRead, cacheWrite].map(String), `$${usage.cost.toFixed(4)}`];
}
