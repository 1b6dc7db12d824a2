/**
 * Waiting for what is due (R10), for as long as a project has a schedule. Several may watch at once, in several containers:
 * firing sees to it that each instant has one run.
 */
import { type FSWatcher, watch } from 'node:fs';
import type { Clock } from '../../lib/clock.ts';
import { messageOf, PiSandboxError } from '../../lib/errors.ts';
import { type RunsPlace, runDirectory, schedulesDirectory } from '../places.ts';
import { type FireOptions, type FireReport, fireDue } from './fire-due.ts';

/**
 * Timers stand still while a machine sleeps, and the wall clock may be set: so the clock is looked at this often, and
 * nothing else is. Half of what counts as late.
 */
const TICK_MS = 30_000;
/** However still it is: not every file system tells of changes. */
const LOOK_MS = 60 * 60_000;
/** Changes come in bursts, and each firing is some of its own. */
const CALM_MS = 200;

export interface WatchOptions extends FireOptions {
  /** Ends it; it resolves then too. */
  readonly signal: AbortSignal;
  /** Of each look. */
  readonly onReport?: (report: FireReport) => void;
}

/**
 * Resolves when the project has no schedule any more. What cannot be read now is tried again.
 */
export async function watchSchedules(place: RunsPlace, options: WatchOptions): Promise<void> {
  const { clock, signal, onReport } = options;
  while (!signal.aborted) {
    // Watched before it is looked at: what changes from here on is seen.
    const changes = changesOf(schedulesDirectory(place));
    try {
      const report = await lookedAt(place, options);
      onReport?.(report);
      if (report.schedules === 0) return;
      for (const run of report.waitsFor) changes.also(runDirectory(place, run));
      await untilDue(report, changes, clock, signal);
    } finally {
      changes.close();
    }
  }
}

async function lookedAt(place: RunsPlace, options: FireOptions): Promise<FireReport> {
  try {
    return await fireDue(place, options);
  } catch (error) {
    if (!(error instanceof PiSandboxError)) throw error;
    const problems = [{ schedule: null, reason: messageOf(error) }];
    return { schedules: 1, firings: [], problems, next: undefined, waitsFor: [] };
  }
}

/** Until the next instant by the wall clock, a change, or an hour. */
async function untilDue(
  { next, problems, waitsFor }: FireReport,
  changes: Changes,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const begun = clock.monotonic();
  const over = AbortSignal.any([signal, changes.signal]);
  // What is about to be done by another process, or could not be done, is looked at again with the next tick.
  const unfinished =
    problems.length > 0 || waitsFor.length > 0 || (next !== undefined && next <= clock.now());
  for (let wall = clock.now().getTime(); !over.aborted; ) {
    const left = next === undefined || unfinished ? TICK_MS : next.getTime() - wall;
    await clock.sleep(Math.max(1, Math.min(left, TICK_MS)), over).catch(() => undefined);
    const now = clock.now().getTime();
    if (unfinished || !changes.works || clock.monotonic() - begun >= LOOK_MS) break;
    // Set back: what is next may be something else.
    if (now < wall || (next !== undefined && now >= next.getTime())) break;
    wall = now;
  }
  if (changes.signal.aborted) await clock.sleep(CALM_MS, signal).catch(() => undefined);
}

interface Changes {
  /** Aborted with the first one. */
  readonly signal: AbortSignal;
  /** False where the system has no watches left: then there are only looks. */
  readonly works: boolean;
  also(directory: string): void;
  close(): void;
}

function changesOf(directory: string): Changes {
  const watchers: FSWatcher[] = [];
  const first = new AbortController();
  let works = true;
  const add = (path: string): void => {
    try {
      watchers.push(
        watch(path, () => first.abort()).on('error', () => {
          works = false;
        }),
      );
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      works = false;
    }
  };
  add(directory);
  return {
    signal: first.signal,
    get works() {
      return works;
    },
    also: add,
    close() {
      for (const watcher of watchers) watcher.close();
    },
  };
}
