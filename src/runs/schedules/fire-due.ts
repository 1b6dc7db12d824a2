/** All schedules that are due (R10): for whoever watches them, and for the maintenance of sandboxes that sleep (O4). */
import { messageOf, PiSandboxError } from '../../lib/errors.ts';
import { LockTakenError } from '../../lib/kernel-lock.ts';
import type { RunId } from '../ids.ts';
import type { RunsPlace } from '../places.ts';
import type { BeginDeps } from './begin.ts';
import { lockSchedule, readSchedule, scheduleIds } from './files.ts';
import { type Firing, fireSchedule } from './fire.ts';
import type { ScheduleId } from './ids.ts';
import { nextInstants } from './instants.ts';
import type { Schedule } from './schedule.ts';

export interface FireOptions extends BeginDeps {
  /** Real path: only this project's. Without it, all. */
  readonly project?: string | undefined;
}

export interface FireReport {
  /** Schedules of the project that this version knows. */
  readonly schedules: number;
  readonly firings: readonly Firing[];
  /** Schedules that could not be looked at, and why; the others were. Null: all of them. */
  readonly problems: readonly { readonly schedule: ScheduleId | null; readonly reason: string }[];
  /** When the next of them is due; in the past where another process is at it, or it could not be started. */
  readonly next: Date | undefined;
  /** Runs whose end lets one begin that waits. */
  readonly waitsFor: readonly RunId[];
}

/**
 * Starts what is due, each exactly once however many call this at once, and finishes what was interrupted. What another
 * process is about is left to it.
 *
 * @throws FileError when the schedules cannot be listed
 */
export async function fireDue(place: RunsPlace, options: FireOptions): Promise<FireReport> {
  const firings: Firing[] = [];
  const problems: { schedule: ScheduleId; reason: string }[] = [];
  const waitsFor: RunId[] = [];
  let schedules = 0;
  let next: Date | undefined;
  for (const id of await scheduleIds(place)) {
    const seen = await known(place, id);
    if (seen === undefined || (options.project !== undefined && seen.realProject !== options.project))
      continue;
    schedules++;
    try {
      if (await mayBeDue(seen, options)) firings.push(...(await locked(place, id, options)));
    } catch (error) {
      if (!(error instanceof PiSandboxError)) throw error;
      problems.push({ schedule: id, reason: messageOf(error) });
    }
    const after = await known(place, id);
    if (after === undefined) continue;
    if (after.queued !== null && after.previousRun !== null) waitsFor.push(after.previousRun);
    const due = await nextOf(after);
    if (due !== undefined && (next === undefined || due < next)) next = due;
  }
  return { schedules, firings, problems, next, waitsFor };
}

async function known(place: RunsPlace, id: ScheduleId): Promise<Schedule | undefined> {
  const facts = await readSchedule(place, id);
  return facts.kind === 'known' ? facts.value : undefined;
}

/** Without the lock: mostly there is nothing to do, and then nothing is locked. */
async function mayBeDue(schedule: Schedule, { clock }: FireOptions): Promise<boolean> {
  const { planned, queued, lastInstant } = schedule;
  const now = clock.now();
  if (planned !== null || queued !== null || Date.parse(lastInstant) > now.getTime()) return true;
  const next = await nextOf(schedule);
  return next !== undefined && next <= now;
}

/** What is planned was due when it was planned. */
async function nextOf(schedule: Schedule): Promise<Date | undefined> {
  const { planned, lastInstant } = schedule;
  if (planned !== null) return new Date(planned.instant);
  try {
    const [next] = await nextInstants(schedule, new Date(lastInstant), 1);
    return next;
  } catch (error) {
    if (error instanceof PiSandboxError) return undefined;
    throw error;
  }
}

async function locked(place: RunsPlace, id: ScheduleId, options: FireOptions): Promise<Firing[]> {
  let lock: Awaited<ReturnType<typeof lockSchedule>>;
  try {
    lock = await lockSchedule(place, id);
  } catch (error) {
    if (error instanceof LockTakenError) return [];
    throw error;
  }
  try {
    return await fireSchedule(place, id, options);
  } finally {
    lock.release();
  }
}
