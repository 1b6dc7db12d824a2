import { expect, it, vi } from 'vitest';
import { inTime } from '../../../src/container/in-time.ts';

it('S14: a step that is done, fails or hangs is told by one word or its reason, after no more than its time', async () => {
  vi.useFakeTimers();
  try {
    expect(await inTime(50, Promise.resolve())).toBe('done');
    expect(await inTime(50, Promise.reject(new Error('why')))).toBe('why');
    const hanging = inTime(50, new Promise(() => undefined));
    await vi.advanceTimersByTimeAsync(50);
    expect(await hanging).toBe('too slow');
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
