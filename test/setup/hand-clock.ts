/** A clock that a test moves: its time passes, and its wall clock jumps, only when the test says so. */
import type { Clock } from '../../src/lib/clock.ts';

export interface HandClock extends Clock {
  /** Time passes: whoever sleeps no longer than that wakes. */
  pass(milliseconds: number): void;
  /** The wall clock is set, and no time passes. */
  set(now: Date | string): void;
  /** How many sleep. */
  readonly sleepers: number;
}

export function handClock(start: string): HandClock {
  let wall = Date.parse(start);
  let passed = 0;
  const sleeping = new Set<{ readonly until: number; readonly wake: () => void }>();
  return {
    now: () => new Date(wall),
    monotonic: () => passed,
    sleep: (milliseconds, signal) =>
      new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        const sleeper = { until: passed + milliseconds, wake: resolve };
        sleeping.add(sleeper);
        signal?.addEventListener('abort', () => {
          if (sleeping.delete(sleeper)) reject(signal.reason);
        });
      }),
    pass(milliseconds) {
      passed += milliseconds;
      wall += milliseconds;
      for (const sleeper of sleeping) {
        if (sleeper.until > passed) continue;
        sleeping.delete(sleeper);
        sleeper.wake();
      }
    },
    set(now) {
      wall = new Date(now).getTime();
    },
    get sleepers() {
      return sleeping.size;
    },
  };
}
