import type { Clock } from '../../lib/clock.ts';

/** What `promise` gives, or undefined when it takes longer (rule 7). It rejects as the promise does. */
export async function within<T>(
  clock: Clock,
  milliseconds: number,
  promise: Promise<T>,
): Promise<T | undefined> {
  const over = new AbortController();
  const late = clock.sleep(milliseconds, over.signal).then(
    () => undefined,
    () => undefined,
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    over.abort();
  }
}
