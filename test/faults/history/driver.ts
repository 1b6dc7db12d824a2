/**
 * A process of its own that does one thing to a history, so that it can be killed or starved while it does. Argument:
 * a Job as JSON. It says `ready` on a line when it begins, and its result as JSON on the next.
 */
import * as z from 'zod/mini';
import * as history from '../../../src/history/index.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { breakFileSystem, callsSoFar, FaultPlan } from './broken-fs.ts';

const Retention = z.object({ days: z.int(), trashDays: z.int() });
const Verb = z.discriminatedUnion('verb', [
  z.object({ verb: z.literal('prune'), retention: Retention, dryRun: z.optional(z.boolean()) }),
  /** Everything in the trash, one after the other; what stays there because its place is taken is not a failure. */
  z.object({ verb: z.literal('restore-all'), retention: Retention }),
  z.object({ verb: z.literal('clear'), force: z.boolean() }),
  z.object({ verb: z.literal('list'), retention: Retention }),
  z.object({ verb: z.literal('acknowledge') }),
  /** Old history of a shared volume into this sessions directory, whatever it recorded (S12). */
  z.object({ verb: z.literal('migrate'), sharedRoot: z.string() }),
]);
export const Job = z.object({
  sessions: z.string(),
  locks: z.string(),
  /** What the clock says at the beginning. */
  now: z.iso.datetime(),
  work: Verb,
  plan: z.optional(FaultPlan),
  /** Whom the process becomes before it does anything, when it is root's. */
  user: z.optional(z.int()),
});
export type Job = z.input<typeof Job>;

const job = z.parse(Job, JSON.parse(process.argv[2] ?? ''));
if (job.user !== undefined) {
  process.setgroups?.([]);
  process.setgid?.(job.user);
  process.setuid?.(job.user);
}
const where: history.History = { sessions: job.sessions, locks: job.locks };
const needs: history.HistoryNeeds = { clock: clockFrom(new Date(job.now)) };
if (job.plan !== undefined) await breakFileSystem(job.plan);
process.stdout.write('ready\n');
try {
  const result = await work(job.work);
  process.stdout.write(`${JSON.stringify({ calls: callsSoFar(), result })}\n`);
} catch (error) {
  const failure = error instanceof Error ? { name: error.name, message: error.message } : String(error);
  const facts = { calls: callsSoFar(), failure, stack: error instanceof Error ? error.stack : undefined };
  process.stdout.write(`${JSON.stringify(facts)}\n`);
  process.exitCode = 1;
}

async function work(verb: z.infer<typeof Verb>): Promise<unknown> {
  switch (verb.verb) {
    case 'prune':
      return history.pruneHistory(where, {
        ...needs,
        retention: verb.retention,
        dryRun: verb.dryRun ?? false,
      });
    case 'restore-all':
      return restoreAll(verb.retention);
    case 'clear':
      return history.clearHistory(where, { ...needs, force: verb.force });
    case 'migrate':
      return migrate(verb.sharedRoot);
    case 'acknowledge':
      return history.acknowledgeFirstDeletion(where);
    case 'list': {
      let rows = 0;
      for await (const _ of history.listSessions(where, { ...needs, retention: verb.retention })) rows++;
      return {
        rows,
        summary: await history.summarizeHistory(where, { ...needs, retention: verb.retention }),
      };
    }
  }
}

async function migrate(sharedRoot: string): Promise<unknown> {
  const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const report = await history.migrateLegacy({
    sharedRoot,
    domains: { one: job.sessions },
    table: { rules: [], fallback: 'one' },
    seal: own.uid === 0 ? history.LEGACY_SEAL : own,
    waitMs: 20_000,
  });
  return { stopped: report.stopped, moved: report.moved.count, failed: report.failed };
}

async function restoreAll(
  retention: z.infer<typeof Retention>,
): Promise<{ restored: number; failed: string[] }> {
  const files: string[] = [];
  for await (const row of history.listTrash(where, { ...needs, retention })) files.push(row.file);
  const failed: string[] = [];
  let restored = 0;
  for (const file of files) {
    try {
      await history.restoreSession(where, file, needs);
      restored++;
    } catch (error) {
      failed.push(error instanceof Error ? error.message : String(error));
    }
  }
  return { restored, failed };
}

function clockFrom(start: Date): Clock {
  const began = performance.now();
  return {
    now: () => new Date(start.getTime() + performance.now() - began),
    monotonic: () => performance.now(),
    sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
  };
}
