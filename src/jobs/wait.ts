/**
 * Waiting for the end of jobs (J6), without looking at them again and again: a job's runner keeps a connection open until
 * the run is committed, and when that ends, however it does, the files say how.
 */
import { nextChange } from '../lib/changes.ts';
import type { Clock } from '../lib/clock.ts';
import { watchJob } from './control/client.ts';
import type { Notice } from './control/protocol.ts';
import { type JobDirectory, type JobsPlace, socketDirectory } from './places.ts';
import { isLive } from './status.ts';
import { type JobView, readJob } from './view.ts';

/**
 * A runner listens a moment after its lock is held; its socket's appearance is awaited. Only its death before that is
 * announced by nothing, so the lock is then looked at, less and less often.
 */
const FIRST_LOOK_MS = 100;
const LAST_LOOK_MS = 2_000;

export interface WaitOptions {
  readonly clock: Clock;
  /** Milliseconds; without it as long as it takes. */
  readonly timeoutMs?: number | undefined;
  /** Ends with the first one. */
  readonly any?: boolean;
  readonly signal?: AbortSignal;
}

export interface Waited {
  readonly ended: readonly JobView[];
  /** What still ran when the wait was over. */
  readonly running: readonly JobView[];
  readonly timedOut: boolean;
}

/**
 * Waits until all jobs have ended, or one of them. Changes nothing.
 *
 * @throws BrokenJobError, FileError; the signal's reason
 */
export async function waitForJobs(
  place: JobsPlace,
  directories: readonly JobDirectory[],
  { clock, timeoutMs, any = false, signal }: WaitOptions,
): Promise<Waited> {
  const stop = new AbortController();
  const onAbort = (): void => stop.abort();
  signal?.throwIfAborted();
  signal?.addEventListener('abort', onAbort, { once: true });
  const needs = { clock, signal: stop.signal };
  const ends = directories.map((directory) => jobEnd(place, directory, needs));
  // Of none the first has no end.
  const over = any && ends.length > 0 ? Promise.race(ends) : Promise.all(ends);
  let timedOut = false;
  try {
    const limits: Promise<unknown>[] = [over, aborted(stop.signal)];
    if (timeoutMs !== undefined) {
      limits.push(
        clock.sleep(timeoutMs, stop.signal).then(() => {
          timedOut = true;
        }),
      );
    }
    await Promise.race(limits);
  } finally {
    stop.abort();
    signal?.removeEventListener('abort', onAbort);
    await Promise.allSettled([over, ...ends]);
  }
  signal?.throwIfAborted();
  const views = await Promise.all(directories.map((directory) => readJob(directory)));
  return {
    ended: views.filter(({ status }) => !isLive(status)),
    running: views.filter(({ status }) => isLive(status)),
    timedOut,
  };
}

/** Resolves when it is, and rejects never. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((settle) => signal.addEventListener('abort', () => settle(), { once: true }));
}

export interface FollowNeeds {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onNotice?: (notice: Notice) => void;
}

/** Resolves with the job as its run has ended; undefined when the signal came first. */
export async function jobEnd(
  place: JobsPlace,
  directory: JobDirectory,
  { clock, signal, onNotice = () => undefined }: FollowNeeds,
): Promise<JobView | undefined> {
  for (let pause = FIRST_LOOK_MS; !signal.aborted; pause = Math.min(pause * 2, LAST_LOOK_MS)) {
    // Watched before it is looked at: what changes from here on is seen.
    const change = nextChange([directory, socketDirectory(place)]);
    try {
      const view = await readJob(directory);
      if (!isLive(view.status)) return view;
      if (await watchJob(place, directory, onNotice, signal)) {
        const after = await readJob(directory);
        if (!isLive(after.status)) return after;
      }
      await change.within(pause, clock, signal);
    } finally {
      change.close();
    }
  }
  return undefined;
}
