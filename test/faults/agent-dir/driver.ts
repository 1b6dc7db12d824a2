/**
 * A process of its own that does one thing to an agent directory, so that it can be killed or starved while it does.
 * Argument: a Job as JSON. It says `ready` on a line when it begins, and its result as JSON on the next.
 */
import * as z from 'zod/mini';
import {
  agentDirAt,
  editMemory,
  type MemoryEdit,
  migrateAgentDirLayout,
  openAgentDir,
} from '../../../src/agent-dir/index.ts';
import { breakFileSystem, callsSoFar, FaultPlan } from '../history/broken-fs.ts';

export const AgentDirJob = z.object({
  agentDir: z.string(),
  work: z.discriminatedUnion('verb', [
    z.object({ verb: z.literal('migrate'), waitMs: z.int() }),
    z.object({ verb: z.literal('add'), text: z.string(), budget: z.int() }),
    z.object({ verb: z.literal('replace'), old: z.string(), text: z.string(), budget: z.int() }),
    z.object({ verb: z.literal('remove'), text: z.string(), budget: z.int() }),
  ]),
  plan: z.optional(FaultPlan),
});
export type AgentDirJob = z.input<typeof AgentDirJob>;

const job = z.parse(AgentDirJob, JSON.parse(process.argv[2] ?? ''));
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
  const agentDir = agentDirAt(job.agentDir);
  if (job.work.verb !== 'migrate') {
    const { budget } = job.work;
    return editMemory(agentDir, editOf(job.work), { budget, waitMs: 20_000 });
  }
  const top = openAgentDir(agentDir);
  if (top === undefined) throw new Error(`there is no ${agentDir}`);
  return migrateAgentDirLayout(top, { waitMs: job.work.waitMs });
}

function editOf(wanted: Exclude<z.infer<typeof AgentDirJob>['work'], { verb: 'migrate' }>): MemoryEdit {
  const { text } = wanted;
  switch (wanted.verb) {
    case 'add':
      return { action: 'add', text };
    case 'replace':
      return { action: 'replace', old: wanted.old, text };
    case 'remove':
      return { action: 'remove', text };
  }
}
