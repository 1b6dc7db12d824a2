import { safeForTerminal } from '../../lib/redact.ts';
import { duration, table } from '../../lib/table.ts';
import { type ListedStatus, listRuns, type RunRow } from '../../runs/index.ts';
import { type Answer, answering } from './answering.ts';
import { RUNS_CALLED_AS } from './called-as.ts';
import { type RunContext, runContext } from './context.ts';
import { scheduleRows } from './schedule-json.ts';

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
  const project = allProjects ? undefined : jobs.project;
  const query = { caller, project: project?.real, status, limit, cursor };
  const { runs, next } = await listRuns(place, query);
  const scheduledRuns = await scheduleRows(place, project);
  return {
    facts: { runs, next, scheduledRuns },
    text: textOf(runs, next, deps.clock.now().getTime()) + scheduleLine(scheduledRuns.length),
  };
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

function scheduleLine(count: number): string {
  return count === 0 ? '' : `schedules: ${count} (${RUNS_CALLED_AS} schedule list)\n`;
}

function firstLine(text: string): string {
  const safe = safeForTerminal(text);
  return safe.length <= OBJECTIVE_CHARACTERS ? safe : `${safe.slice(0, OBJECTIVE_CHARACTERS - 1)}…`;
}
