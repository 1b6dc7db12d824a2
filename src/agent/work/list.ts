import { jsonText } from '../../lib/json-text.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { bytes, duration, table } from '../../lib/table.ts';
import { lookAt, type RunView, workSegment } from '../../work/index.ts';
import { workRoot } from './work-root.ts';

interface ListOptions {
  category: string | undefined;
  tenant: string | undefined;
  size?: boolean;
  json?: boolean;
}

/** Lists runs; what is not one is `doctor`'s to say. */
export async function list({ category, tenant, size = false, json = false }: ListOptions): Promise<number> {
  if (category !== undefined) workSegment('category', category);
  if (tenant !== undefined) workSegment('tenant', tenant);
  const root = workRoot();
  const { runs, cut, problems } = await lookAt(root, { category, tenant, sizes: size });
  if (json) {
    process.stdout.write(`${jsonText({ version: 1, root, runs, cut }, 2)}\n`);
    return 0;
  }
  const now = Date.now();
  const headings = ['category', 'tenant', 'run', 'last use', ...(size ? ['size'] : []), 'in use by'];
  process.stdout.write(
    table(
      headings,
      runs.map((run) => row(run, size, now)),
    ),
  );
  if (cut) process.stderr.write('pi-work: there is more than was looked at\n');
  const strange = problems.items.length + problems.omitted;
  if (strange > 0) process.stderr.write(`pi-work: ${strange} more things lie there: pi-work doctor\n`);
  return 0;
}

function row(run: RunView, size: boolean, now: number): string[] {
  const lastUse = `${duration(now - run.lastUse.getTime())} ago`;
  const disk = run.bytes === undefined ? 'not measured' : bytes(run.bytes);
  return [run.category, run.tenant, run.runId, lastUse, ...(size ? [disk] : []), holdersOf(run)];
}

function holdersOf({ inUse, holders }: RunView): string {
  if (!inUse) return '-';
  const names = holders.map(({ pid, host }) => `${host}:${pid}`);
  return safeForTerminal(names.length === 0 ? 'unknown' : names.slice(0, 3).join(', '));
}
