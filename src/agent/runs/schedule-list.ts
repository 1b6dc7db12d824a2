import { safeForTerminal } from '../../lib/redact.ts';
import { table } from '../../lib/table.ts';
import { answering } from './answering.ts';
import { runContext } from './context.ts';
import { type ScheduleRow, scheduleRows, timeText } from './schedule-json.ts';

export function scheduleList({
  allProjects = false,
  json = false,
}: {
  allProjects?: boolean;
  json?: boolean;
}): Promise<number> {
  return answering({ json }, async () => {
    const { jobs, place } = await runContext();
    const schedules = await scheduleRows(place, allProjects ? undefined : jobs.project);
    return { facts: { schedules }, text: textOf(schedules, allProjects) };
  });
}

function textOf(rows: readonly ScheduleRow[], allProjects: boolean): string {
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
