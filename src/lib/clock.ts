/** Time, handed in wherever logic depends on it, so that tests can jump and wait without waiting. */
import { setTimeout as wait } from 'node:timers/promises';

export interface Clock {
  /** The wall clock: what people read; may jump either way. */
  now(): Date;
  /** Milliseconds since some fixed moment; never goes back. For deadlines. */
  monotonic(): number;
  /** Rejects with the signal's reason when it is aborted before. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonic: () => performance.now(),
  sleep: async (milliseconds, signal) => {
    try {
      await wait(milliseconds, undefined, signal ? { signal } : {});
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  },
};
