/** A schedule as `--json` tells of it: everything but its graph. */
import type { JobProject } from '../../jobs/index.ts';
import { PiSandboxError } from '../../lib/errors.ts';
import {
  type FoundSchedule,
  type HistoryLine,
  listSchedules,
  nextInstants,
  type RunsPlace,
  readHistory,
  type Schedule,
  timeIn,
} from '../../runs/index.ts';

export interface ScheduleFacts
  extends Pick<
    Schedule,
    | 'scheduleId'
    | 'cron'
    | 'tz'
    | 'catchUp'
    | 'overlap'
    | 'project'
    | 'realProject'
    | 'cwd'
    | 'createdAt'
    | 'queued'
    | 'previousRun'
  > {
  readonly objective: string;
  readonly steps: number;
  /** ISO 8601. */
  readonly next: string | null;
  readonly last: HistoryLine | null;
}

/** What is no schedule of this version is listed too, and left alone. */
export type ScheduleRow = ScheduleFacts | { readonly scheduleId: string; readonly problem: string };

/** The schedules of a project, or of all. @throws FileError, UnsafeFileError */
export async function scheduleRows(place: RunsPlace, project?: JobProject): Promise<ScheduleRow[]> {
  const found = await listSchedules(place, project);
  return Promise.all(found.map((each) => rowOf(place, each)));
}

async function rowOf(place: RunsPlace, { id, facts }: FoundSchedule): Promise<ScheduleRow> {
  if (facts.kind === 'known') return scheduleFacts(place, facts.value);
  const problem =
    facts.kind === 'damaged' ? facts.reason : `schema-version-${facts.kind} (${facts.schemaVersion})`;
  return { scheduleId: id, problem };
}

/** @throws FileError, UnsafeFileError */
export async function scheduleFacts(place: RunsPlace, schedule: Schedule): Promise<ScheduleFacts> {
  const { scheduleId, cron, tz, catchUp, overlap, graph, lastInstant } = schedule;
  const { project, realProject, cwd, createdAt, queued, previousRun } = schedule;
  const [history, next] = await Promise.all([
    readHistory(place, scheduleId),
    nextOf(schedule, new Date(lastInstant)),
  ]);
  return {
    ...{ scheduleId, cron, tz, catchUp, overlap, objective: graph.objective, steps: graph.steps.length },
    ...{ project, realProject, cwd, createdAt, queued, previousRun },
    next: next?.toISOString() ?? null,
    last: history.at(-1) ?? null,
  };
}

async function nextOf(schedule: Schedule, from: Date): Promise<Date | undefined> {
  try {
    const [next] = await nextInstants(schedule, from, 1);
    return next;
  } catch (error) {
    // A zone that another machine knows: it is listed all the same.
    if (error instanceof PiSandboxError) return undefined;
    throw error;
  }
}

/** An instant as the clock of its zone shows it. */
export function timeText(instant: string | null, tz: string): string {
  return instant === null ? '-' : timeIn(tz, new Date(instant));
}
