/** The one way to try again: a deadline, growing pauses, the clock handed in (rule 7). */
import { type Clock, systemClock } from './clock.ts';

export interface RetryOptions {
  /** Milliseconds after which a last attempt is made; so there is always one. */
  deadlineMs: number;
  /** The first pause; each further one is twice as long. */
  firstPauseMs?: number;
  longestPauseMs?: number;
  clock?: Clock;
  /** Aborting ends the wait with the signal's reason. */
  signal?: AbortSignal;
}

/** Calls `attempt` until it gives something other than undefined; undefined when the deadline came first. */
export async function retryUntil<T>(
  attempt: () => T | undefined | Promise<T | undefined>,
  options: RetryOptions,
): Promise<T | undefined> {
  const { deadlineMs, firstPauseMs = 10, longestPauseMs = 80, clock = systemClock, signal } = options;
  const deadline = clock.monotonic() + deadlineMs;
  for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
    signal?.throwIfAborted();
    const result = await attempt();
    if (result !== undefined) return result;
    const left = deadline - clock.monotonic();
    if (left <= 0) return undefined;
    await clock.sleep(Math.min(pause, left), signal);
  }
}
