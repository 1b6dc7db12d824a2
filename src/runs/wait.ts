/**
 * Waiting for a run (R4, R8) without looking at it again and again: its owner keeps a connection open until it lets go, and when
 * that ends, however it does, the files say how.
 */
import { nextChange } from '../lib/changes.ts';
import type { Clock } from '../lib/clock.ts';
import { watchRun } from './owner/client.ts';
import { type RunDirectory, type RunsPlace, runSocketDirectory } from './places.ts';
import { type KnownRun, readKnownRun } from './view.ts';

/**
 * An owner listens a moment after its lock is held; its socket's appearance is awaited. Only its death before that is announced by
 * nothing, so the lock is then looked at, less and less often.
 */
const FIRST_LOOK_MS = 100;
const LAST_LOOK_MS = 2_000;

export interface WaitForRunOptions {
  readonly clock: Clock;
  /** Milliseconds; without it as long as it takes. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface WaitedRun {
  /** Ended, or an orphan: nobody brings that one to its end. With `timedOut` as it was when the time was over. */
  readonly run: KnownRun;
  readonly timedOut: boolean;
}

/**
 * Waits until a run has ended or lost its owner; changes nothing.
 *
 * @throws RunError as `readKnownRun`; FileError; the signal's reason
 */
export async function waitForRun(
  place: RunsPlace,
  directory: RunDirectory,
  { clock, timeoutMs, signal }: WaitForRunOptions,
): Promise<WaitedRun> {
  signal?.throwIfAborted();
  const stop = new AbortController();
  const both = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const timer = timeoutMs === undefined ? undefined : clock.sleep(timeoutMs, stop.signal);
  let timedOut = false;
  timer?.then(
    () => {
      timedOut = true;
      stop.abort();
    },
    () => undefined,
  );
  try {
    for (let pause = FIRST_LOOK_MS; ; pause = Math.min(pause * 2, LAST_LOOK_MS)) {
      const run = await settled(place, directory, { clock, pause, signal: both });
      signal?.throwIfAborted();
      if (run.state.terminal || run.held === false) return { run, timedOut: false };
      if (timedOut) return { run, timedOut };
    }
  } finally {
    stop.abort();
  }
}

/** The run after its owner has let go, or after something else has happened. */
async function settled(
  place: RunsPlace,
  directory: RunDirectory,
  { clock, pause, signal }: { clock: Clock; pause: number; signal: AbortSignal },
): Promise<KnownRun> {
  // Watched before it is looked at: what changes from here on is seen.
  const change = nextChange([directory, runSocketDirectory(place)]);
  try {
    const run = await readKnownRun(directory);
    if (run.state.terminal || run.held === false || signal.aborted) return run;
    const heard = await watchRun(place, directory, () => undefined, signal);
    if (!heard) await change.within(pause, clock, signal);
    return await readKnownRun(directory);
  } finally {
    change.close();
  }
}
