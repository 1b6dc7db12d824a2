/** Adding, listing and removing schedules (R10). */
import type { JobProject } from '../../jobs/index.ts';
import { UsageError } from '../../lib/errors.ts';
import { RunError } from '../errors.ts';
import { proposeRunId } from '../ids.ts';
import { type FileFacts, SCHEMA_VERSION } from '../manifest.ts';
import type { RunsPlace } from '../places.ts';
import type { RunDeps, StartRequest } from '../request.ts';
import {
  deleteSchedule,
  lockAdding,
  lockSchedule,
  readSchedule,
  scheduleIds,
  writeSchedule,
} from './files.ts';
import { isScheduleId, type ScheduleId } from './ids.ts';
import { checkTiming, type Timing } from './instants.ts';
import type { CatchUp, Overlap, Schedule } from './schedule.ts';

/** All schedules of all projects of a domain. */
export const MOST_SCHEDULES = 100;
/** A firing holds a schedule's lock for as long as a run takes to be made. */
const LOCK_WAIT_MS = 10_000;

export interface NewSchedule extends Timing {
  /** Without it one like a run's id is made. */
  readonly name?: ScheduleId | undefined;
  readonly catchUp: CatchUp;
  readonly overlap: Overlap;
  readonly domain: string | null;
  readonly request: Pick<StartRequest, 'graph' | 'project' | 'cwd' | 'settings'> & {
    readonly below: Pick<StartRequest['below'], 'depth' | 'maxDepth'>;
  };
}

/**
 * It is due from now on.
 *
 * @throws CronError, UnknownZoneError, UsageError for a name that is taken, RunError `limit`; FileError
 */
export async function addSchedule(place: RunsPlace, wanted: NewSchedule, deps: RunDeps): Promise<Schedule> {
  const now = deps.clock.now();
  await checkTiming(wanted, now);
  const lock = await lockAdding(place, LOCK_WAIT_MS);
  try {
    const ids = await scheduleIds(place);
    if (ids.length >= MOST_SCHEDULES)
      throw new RunError('limit', `there are ${ids.length} schedules, ${MOST_SCHEDULES} is the most`, {
        hint: 'multi-agent runs schedule rm removes one',
      });
    const scheduleId = wanted.name ?? freeId(ids, now, deps);
    if (ids.includes(scheduleId))
      throw new UsageError(`there is a schedule ${scheduleId} already`, {
        hint: `multi-agent runs schedule rm ${scheduleId} removes it`,
      });
    const schedule = scheduleOf(scheduleId, wanted, now, deps);
    await writeSchedule(place, schedule);
    return schedule;
  } finally {
    lock.release();
  }
}

function freeId(taken: readonly ScheduleId[], now: Date, { random }: RunDeps): ScheduleId {
  for (let attempt = 0; attempt < MOST_SCHEDULES; attempt++) {
    const id: string = proposeRunId(now, random);
    if (isScheduleId(id) && !taken.includes(id)) return id;
  }
  throw new RunError('failed', 'no id of a schedule is free');
}

function scheduleOf(scheduleId: ScheduleId, wanted: NewSchedule, now: Date, { identity }: RunDeps): Schedule {
  const { request, cron, tz, catchUp, overlap, domain } = wanted;
  const { graph, project, below, settings } = request;
  return {
    schemaVersion: SCHEMA_VERSION,
    scheduleId,
    createdAt: now.toISOString(),
    cron: cron.trim(),
    tz,
    catchUp,
    overlap,
    graph: {
      objective: graph.objective,
      steps: graph.steps.map((step) => ({ ...step, needs: [...step.needs], after: [...step.after] })),
    },
    project: project.directory,
    realProject: project.real,
    cwd: request.cwd,
    domain,
    uid: identity.uid,
    ...settings,
    depth: below.depth,
    maxDepth: below.maxDepth,
    lastInstant: now.toISOString(),
    lastStarted: null,
    planned: null,
    queued: null,
    previousRun: null,
  };
}

/** A schedule, or why it is not known. */
export interface FoundSchedule {
  readonly id: ScheduleId;
  readonly facts: Exclude<FileFacts<Schedule>, { kind: 'none' }>;
}

/**
 * Sorted by id. What is damaged, or of another version, is in every project's list.
 *
 * @throws FileError
 */
export async function listSchedules(place: RunsPlace, project?: JobProject): Promise<FoundSchedule[]> {
  const found: FoundSchedule[] = [];
  for (const id of await scheduleIds(place)) {
    const facts = await readSchedule(place, id);
    if (facts.kind === 'none') continue;
    if (facts.kind === 'known' && project !== undefined && facts.value.realProject !== project.real) continue;
    found.push({ id, facts });
  }
  return found;
}

/**
 * Its runs go on. One of a newer version is left alone.
 *
 * @throws RunError `not-found`, `schema-version-too-new`; LockTakenError, FileError
 */
export async function removeSchedule(place: RunsPlace, id: ScheduleId): Promise<void> {
  const facts = await readSchedule(place, id);
  if (facts.kind === 'none') throw noSchedule(id);
  if (facts.kind === 'too-new')
    throw new RunError('schema-version-too-new', `schedule ${id} is of version ${facts.schemaVersion}`, {
      hint: 'remove it with the version of pi-sandbox that made it',
      details: { schemaVersion: facts.schemaVersion },
    });
  const lock = await lockSchedule(place, id, LOCK_WAIT_MS);
  try {
    await deleteSchedule(place, id);
  } finally {
    lock.release();
  }
}

export function noSchedule(id: ScheduleId): RunError {
  return new RunError('not-found', `there is no schedule ${id}`, {
    hint: 'multi-agent runs schedule list --all-projects shows them',
  });
}
