/**
 * A process of its own that does one thing in a work root, so that it can be killed or starved while it does. Argument:
 * a WorkJob as JSON. It says `ready` on a line when it begins, and its result as JSON on the next.
 */
import * as z from 'zod/mini';
import { acquireRun, pruneAll, retentionOf } from '../../../src/work/index.ts';
import { breakFileSystem, callsSoFar, FaultPlan } from '../history/broken-fs.ts';

export const WorkJob = z.object({
  root: z.string(),
  /** What the clock says. */
  now: z.iso.datetime(),
  verb: z.enum(['prune', 'acquire', 'use', 'use-once']),
  /** Whom it becomes before it does anything, when it is root's. */
  user: z.optional(z.int()),
  plan: z.optional(FaultPlan),
});
export type WorkJob = z.input<typeof WorkJob>;

const job = z.parse(WorkJob, JSON.parse(process.argv[2] ?? ''));
if (job.user !== undefined) {
  process.setgroups?.([]);
  process.setgid?.(job.user);
  process.setuid?.(job.user);
}
const now = new Date(job.now);
const clock = {
  now: () => now,
  monotonic: () => performance.now(),
  sleep: (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds)),
};
if (job.plan !== undefined) await breakFileSystem(job.plan);
process.stdout.write('ready\n');
try {
  const result = await work();
  process.stdout.write(`${JSON.stringify({ calls: callsSoFar(), result })}\n`);
} catch (error) {
  const failure = error instanceof Error ? { name: error.name, message: error.message } : String(error);
  process.stdout.write(`${JSON.stringify({ calls: callsSoFar(), failure })}\n`);
  process.exitCode = 1;
}

async function work(): Promise<unknown> {
  if (job.verb === 'prune') {
    const { problems, removed } = await pruneAll(job.root, retentionOf(), { clock });
    return { problems: problems.items, removed: removed.items.length + removed.omitted };
  }
  const run = await acquireRun(job.root, { category: 'jobs', tenant: 'made', runId: 'named' }, { clock });
  if (job.verb === 'acquire') return { path: run.path };
  return run.release({ delete: job.verb === 'use-once' });
}
