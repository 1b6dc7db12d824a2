/** Work that a start sets going and that nobody waits for. */
import type { Clock } from '../lib/clock.ts';

/** A start has better things to do in its first seconds. */
const DELAY_MS = 5_000;
const EVERY_MS = 60 * 60_000;

/** Gives a function that a start calls: `run` follows a little later, at most once an hour. */
export function besideStarts(clock: Clock, run: () => Promise<void>, delayMs: number = DELAY_MS): () => void {
  let last: number | undefined;
  return () => {
    const now = clock.monotonic();
    if (last !== undefined && now - last < EVERY_MS) return;
    last = now;
    setTimeout(() => void run(), delayMs).unref();
  };
}
