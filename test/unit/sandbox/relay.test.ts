/** How long a relay is kept, and how it is made again; the clock and both ends are the test's. */
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { keepRelay, type RelayEnd, type RelayPlan } from '../../../src/cli/sandbox/relay.ts';
import { OperationError, TimeoutError } from '../../../src/lib/errors.ts';
import { FrameConnection } from '../../../src/wire/index.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

interface Scene {
  plan: RelayPlan;
  /** Milliseconds between attempts, in order. */
  pauses: number[];
  attempts: () => number;
  stop: AbortController;
}

/**
 * A sandbox whose answer to each attempt is a connection that lasts so many milliseconds, or none at all; after the last
 * one the sandbox has ended.
 */
function scene(
  lasts: readonly (number | undefined)[],
  { firstMs = 0, look }: { firstMs?: number; look?: () => ReturnType<RelayEnd['look']> } = {},
): Scene {
  let now = 0;
  let attempts = 0;
  const pauses: number[] = [];
  const stop = new AbortController();
  let peer = new PassThrough();
  const plan: RelayPlan = {
    end: {
      async connect() {
        if (lasts[attempts++] === undefined) return undefined;
        peer = new PassThrough();
        return new FrameConnection({ input: peer, output: new PassThrough() });
      },
      look: look ?? (async () => (attempts < lasts.length ? 'there' : 'ended')),
    },
    accept: async () => {
      throw new OperationError('nothing is served here');
    },
    onConnected() {
      now += lasts[attempts - 1] ?? 0;
      peer.destroy();
    },
    firstMs,
    clock: {
      now: () => new Date(now),
      monotonic: () => now,
      async sleep(milliseconds) {
        now += milliseconds;
        pauses.push(milliseconds);
        if (now > DAY) stop.abort();
      },
    },
    debug: () => undefined,
    signal: stop.signal,
  };
  return { plan, pauses, attempts: () => attempts, stop };
}

describe('S10, S14: a relay', () => {
  it('S14: of a forward that gets no first connection fails at once', async () => {
    const { plan, attempts } = scene([undefined, 10_000]);
    await expect(keepRelay(plan)).rejects.toThrow('the sandbox does not answer');
    expect(attempts()).toBe(1);
  });

  it('S10: of a service tries for its first connection again, in growing pauses', async () => {
    const { plan, pauses } = scene([undefined, undefined, undefined, 10_000], { firstMs: MINUTE });
    expect(await keepRelay(plan)).toBe('ended');
    expect(pauses).toEqual([250, 500, 1_000]);
  });

  it('S10: of a service gives up when no first connection comes in time', async () => {
    const never = Array.from({ length: 1_000 }, () => undefined);
    const { plan, pauses } = scene(never, { firstMs: 2 * MINUTE });
    await expect(keepRelay(plan)).rejects.toThrow('the sandbox does not answer');
    expect(pauses.reduce((sum, pause) => sum + pause)).toBeGreaterThanOrEqual(2 * MINUTE);
  });

  it('S10: that is taken and let go at once, again and again, is made again ever more slowly', async () => {
    const { plan, pauses } = scene(Array.from({ length: 8 }, () => 100));
    await keepRelay(plan);
    expect(pauses).toEqual([250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]);
  });

  it('S10: that lasted is made again at once, however often it was lost before', async () => {
    const { plan, pauses } = scene([100, 100, 100, MINUTE, 100]);
    await keepRelay(plan);
    expect(pauses).toEqual([250, 500, 1_000, 250]);
  });

  it('S10: outlives an engine that is away for minutes', async () => {
    const answers = Array.from({ length: 150 }, () => 'unknown' as const);
    const { plan, attempts } = scene([MINUTE, ...answers.map(() => undefined), MINUTE], {
      look: async () => answers.pop() ?? (attempts() > 151 ? 'ended' : 'there'),
    });
    expect(await keepRelay(plan)).toBe('ended');
  });

  it('rule 7: ends by itself when the engine never comes back', async () => {
    const { plan, pauses } = scene([MINUTE], { look: async () => 'unknown' });
    await expect(keepRelay(plan)).rejects.toThrow(TimeoutError);
    const waited = pauses.reduce((sum, pause) => sum + pause);
    expect(waited).toBeGreaterThanOrEqual(15 * MINUTE);
    expect(waited).toBeLessThan(16 * MINUTE);
  });

  it('S10: ends when it is told to', async () => {
    const { plan, stop } = scene([MINUTE, MINUTE, MINUTE]);
    const { clock } = plan;
    const sleep = async (): Promise<void> => stop.abort();
    expect(await keepRelay({ ...plan, clock: { ...clock, sleep } })).toBe('aborted');
  });
});
