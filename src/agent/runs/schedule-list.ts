import { safeForTerminal } from '../../lib/redact.ts';
import { table } from '../../lib/table.ts';
import { type FoundSchedule, listSchedules, type RunsPlace } from '../../runs/index.ts';
import { answering } from './answering.ts';
import { runContext } from './context.ts';
import { type ScheduleFacts, scheduleFacts, timeText } from './schedule-json.ts';

/** What is no schedule of this version is listed too, and left alone. */
type Row = ScheduleFacts | { readonly scheduleId: string; readonly problem: string };

export function scheduleList({
  allProjects = false,
  json = false,
}: {
  allProjects?: boolean;
  json?: boolean;
}): Promise<number> {
  return answering({ json }, async () => {
    const { jobs, place } = await runContext();
    const found = await listSchedules(place, allProjects ? undefined : jobs.project);
    const schedules = await Promise.all(found.map((each) => rowOf(place, each)));
    return { facts: { schedules }, text: textOf(schedules, allProjects) };
  });
}

async function rowOf(place: RunsPlace, { id, facts }: FoundSchedule): Promise<Row> {
  if (facts.kind === 'known') return scheduleFacts(place, facts.value);
  const problem =
    facts.kind === 'damaged' ? facts.reason : `schema-version-${facts.kind} (${facts.schemaVersion})`;
  return { scheduleId: id, problem };
}

function textOf(rows: readonly Row[], allProjects: boolean): string {
  const headings = [
    'schedule',
    'cron',
    'zone',
    'next',
    'last',
    ...(allProjects ? ['project'] : []),
    'objective',
  ];
  const cells = rows.map((row) => {
    if ('problem' in row)
      return [row.scheduleId, '-', '-', '-', '-', ...(allProjects ? ['-'] : []), row.problem];
    const { scheduleId, cron, tz, next, last, project, objective } = row;
    const before = last === null ? '-' : `${last.what} ${timeText(last.instant, tz)}`;
    const place = allProjects ? [project] : [];
    return [scheduleId, cron, tz, timeText(next, tz), before, ...place, objective.slice(0, 60)];
  });
  return table(
    headings,
    cells.map((line) => line.map((cell) => safeForTerminal(cell))),
  );
}
