import { safeForTerminal } from '../../lib/redact.ts';
import { duration, table } from '../../lib/table.ts';
import { type ListedStatus, listRuns, type RunRow } from '../../runs/index.ts';
import { type Answer, answering } from './answering.ts';
import { RUNS_CALLED_AS } from './called-as.ts';
import { type RunContext, runContext } from './context.ts';

export interface ListOptions {
  readonly allProjects?: boolean;
  readonly status?: readonly ListedStatus[];
  readonly limit?: number;
  readonly cursor?: string;
  readonly json?: boolean;
}

/** The runs of this project, the newest first (R8). */
export function list(options: ListOptions): Promise<number> {
  return answering(options, async () => listed(await runContext(), options));
}

export async function listed(
  context: RunContext,
  { allProjects = false, status, limit, cursor }: ListOptions,
): Promise<Answer> {
  const { place, caller, jobs, deps } = context;
  const project = allProjects ? undefined : jobs.project.real;
  const { runs, next } = await listRuns(place, { caller, project, status, limit, cursor });
  const facts = { runs, next, scheduledRuns: [] };
  return { facts, text: textOf(runs, next, deps.clock.now().getTime()) };
}

const OBJECTIVE_CHARACTERS = 60;

function textOf(runs: readonly RunRow[], next: string | null, now: number): string {
  const rows = runs.map((row) => [
    row.runId,
    row.status,
    row.problem === null ? `${row.stepsDone}/${row.steps}` : '-',
    row.ownerClass,
    row.createdAt === null ? '-' : `${duration(now - Date.parse(row.createdAt))} ago`,
    row.pendingWorktrees === 0 ? '-' : String(row.pendingWorktrees),
    firstLine(row.problem ?? row.objective ?? ''),
  ]);
  const more = next === null ? '' : `more: ${RUNS_CALLED_AS} list --cursor ${next}\n`;
  return table(['run', 'status', 'steps', 'owner', 'started', 'worktrees', 'objective'], rows) + more;
}

function firstLine(text: string): string {
  const safe = safeForTerminal(text);
  return safe.length <= OBJECTIVE_CHARACTERS ? safe : `${safe.slice(0, OBJECTIVE_CHARACTERS - 1)}…`;
}
