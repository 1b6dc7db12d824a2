/** One schedule's firing, step by step on the disk, under its lock (R10). */
import { messageOf, PiSandboxError } from '../../lib/errors.ts';
import { proposeRunId, type RunId } from '../ids.ts';
import type { RunsPlace } from '../places.ts';
import { type BeginDeps, beginRun, goesOn, wasMade } from './begin.ts';
import { decide, later, settled } from './decide.ts';
import { readSchedule, writeSchedule } from './files.ts';
import { appendHistory, type HistoryLine, readHistory } from './history.ts';
import type { ScheduleId } from './ids.ts';
import { latestInstant } from './instants.ts';
import type { Schedule } from './schedule.ts';

/** After one that waited, one that is due, and one more look: more are never to be done at once. */
const MOST_STEPS = 3;
/** A firing that was begun and interrupted is finished for so long, where missed ones are not made up for. */
const FINISHED_FOR_MS = 60 * 60_000;

/** What has been done about one instant. */
export interface Firing {
  readonly schedule: ScheduleId;
  readonly instant: Date;
  readonly what: HistoryLine['what'];
  readonly runId: RunId | null;
  readonly reason: string | null;
}

/**
 * Does all there is to do about a schedule. Each step is on the disk before the next one begins: whoever is killed between
 * two leaves what the next look finishes.
 *
 * @throws FileError; CronError and UnknownZoneError where an older machine took it
 */
export async function fireSchedule(place: RunsPlace, id: ScheduleId, deps: BeginDeps): Promise<Firing[]> {
  const facts = await readSchedule(place, id);
  if (facts.kind !== 'known') return [];
  let schedule = facts.value;
  const firings: Firing[] = [];
  const change = async (changes: Partial<Schedule>): Promise<void> => {
    schedule = { ...schedule, ...changes };
    await writeSchedule(place, schedule);
  };
  const tell = async (firing: Omit<Firing, 'schedule'>): Promise<void> => {
    firings.push({ schedule: id, ...firing });
    await appendHistory(place, id, {
      version: 1,
      at: deps.clock.now().toISOString(),
      instant: firing.instant.toISOString(),
      what: firing.what,
      runId: firing.runId,
      reason: firing.reason,
    });
  };
  const work: Work = { place, deps, current: () => schedule, change, tell };
  for (let step = 0; step < MOST_STEPS; step++) if (!(await oneStep(work))) break;
  return firings;
}

interface Work {
  readonly place: RunsPlace;
  readonly deps: BeginDeps;
  readonly current: () => Schedule;
  readonly change: (changes: Partial<Schedule>) => Promise<void>;
  readonly tell: (firing: Omit<Firing, 'schedule'>) => Promise<void>;
}

/** False when there is nothing more to do now. */
async function oneStep(work: Work): Promise<boolean> {
  const { place, deps, current, change, tell } = work;
  if (current().planned !== null) return carryOut(work);
  const now = deps.clock.now();
  const since = settled(current(), now);
  if (since.lastInstant !== current().lastInstant) await change(since);
  const schedule = current();
  const decision = decide(schedule, {
    now,
    latest: await latestInstant(schedule, new Date(schedule.lastInstant), now),
    goesOn: await goesOn(place, schedule.previousRun),
  });
  if (decision.kind === 'nothing') return false;
  const { instant } = decision;
  const until = later(instant.toISOString(), schedule.lastInstant);
  switch (decision.kind) {
    case 'start': {
      const runId = proposeRunId(now, deps.random);
      await change({ planned: { instant: instant.toISOString(), runId } });
      return carryOut(work);
    }
    case 'queue':
      await change({ lastInstant: until, queued: instant.toISOString() });
      await tell({ instant, what: 'queued', runId: null, reason: 'the run before still goes on' });
      return true;
    case 'pass-over':
      await change({ lastInstant: until });
      await tell({ instant, what: decision.what, runId: null, reason: decision.reason });
      return true;
  }
}

/** The run of `planned`, made and handed over, and then nothing is planned any more. */
async function carryOut({ place, deps, current, change, tell }: Work): Promise<boolean> {
  const { planned, catchUp, queued, lastInstant, lastStarted } = current();
  if (planned === null) return false;
  const { runId } = planned;
  const instant = new Date(planned.instant);
  const after = {
    planned: null,
    queued: queued === planned.instant ? null : queued,
    lastInstant: later(planned.instant, lastInstant),
    lastStarted: later(planned.instant, lastStarted),
  };
  const isLate = deps.clock.now().getTime() - instant.getTime() > FINISHED_FOR_MS;
  if (isLate && catchUp === 'none' && queued !== planned.instant && !(await wasMade(place, runId))) {
    await change(after);
    await tell({
      instant,
      what: 'missed',
      runId: null,
      reason: 'its start was interrupted, and it is too late now',
    });
    return true;
  }
  try {
    await beginRun(place, current(), runId, deps);
  } catch (error) {
    if (!(error instanceof PiSandboxError)) throw error;
    const reason = messageOf(error);
    // It is tried again and again: told once.
    if (!(await isLast(place, current(), planned.instant, reason)))
      await tell({ instant, what: 'failed', runId, reason });
    throw error;
  }
  await change({ ...after, previousRun: runId });
  await tell({ instant, what: 'started', runId, reason: null });
  return true;
}

async function isLast(
  place: RunsPlace,
  { scheduleId }: Schedule,
  instant: string,
  reason: string,
): Promise<boolean> {
  const last = (await readHistory(place, scheduleId)).at(-1);
  return last?.what === 'failed' && last.instant === instant && last.reason === reason;
}
