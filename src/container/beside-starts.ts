/** Work that starts set going now and then: what is old can wait, and a start cannot. */
import type { Clock } from '../lib/clock.ts';

/** A start has better things to do in its first seconds. */
const DELAY_MS = 5_000;
const EVERY_MS = 60 * 60_000;

/** Gives a function that is true when it is called for the first time, and then at most once an hour. */
export function onceAnHour(clock: Clock): () => boolean {
  let last: number | undefined;
  return () => {
    const now = clock.monotonic();
    if (last !== undefined && now - last < EVERY_MS) return false;
    last = now;
    return true;
  };
}

/** Gives a function that a start calls: `run`, which nobody waits for, follows a little later, at most once an hour. */
export function besideStarts(clock: Clock, run: () => Promise<void>, delayMs: number = DELAY_MS): () => void {
  const due = onceAnHour(clock);
  return () => {
    if (due()) setTimeout(() => void run(), delayMs).unref();
  };
}
