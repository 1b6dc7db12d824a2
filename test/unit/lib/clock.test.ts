import { describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import { FileError } from '../../../src/lib/file-error.ts';
import { randomId } from '../../../src/lib/ids.ts';
import { retryUntil } from '../../../src/lib/retry.ts';

function countingClock(): Clock & { pauses: number[] } {
  let time = 0;
  const pauses: number[] = [];
  return {
    pauses,
    now: () => new Date(0),
    monotonic: () => time,
    sleep: async (milliseconds) => {
      pauses.push(milliseconds);
      time += milliseconds;
    },
  };
}

describe('clock', () => {
  it('house: a sleep can be ended by its signal, with the reason given there', async () => {
    const reason = new Error('stop');
    const controller = new AbortController();
    const sleeping = systemClock.sleep(60_000, controller.signal);
    controller.abort(reason);
    await expect(sleeping).rejects.toBe(reason);
    await expect(systemClock.sleep(1, controller.signal)).rejects.toBe(reason);
    await systemClock.sleep(0);
  });
});

describe('retryUntil', () => {
  it('rule 7: pauses grow up to a bound, and the deadline ends them', async () => {
    const clock = countingClock();
    let attempts = 0;
    const attempt = (): undefined => {
      attempts++;
    };
    expect(await retryUntil(attempt, { deadlineMs: 250, clock })).toBeUndefined();
    expect(clock.pauses).toEqual([10, 20, 40, 80, 80, 20]);
    expect(attempts).toBe(7);
  });

  it('house: the first result ends it, false and null included', async () => {
    const results = [undefined, undefined, false];
    expect(await retryUntil(() => results.shift(), { deadlineMs: 1_000, clock: countingClock() })).toBe(
      false,
    );
    expect(await retryUntil(() => null, { deadlineMs: 0, clock: countingClock() })).toBeNull();
  });

  it('house: an aborted signal stops it', async () => {
    const options = { deadlineMs: 1_000, signal: AbortSignal.abort(new Error('stop')) };
    await expect(retryUntil(() => undefined, options)).rejects.toThrow('stop');
  });
});

describe('randomId', () => {
  it('house: is hexadecimal, and comes from the source that is handed in', () => {
    expect(randomId()).toMatch(/^[0-9a-f]{32}$/);
    expect(randomId(2, () => Uint8Array.of(0, 255))).toBe('00ff');
  });
});

describe('FileError', () => {
  it('rule 5: says what failed, on what and why, once each, with the next step', () => {
    const cause = Object.assign(new Error("EACCES: permission denied, open '/srv/x'"), { code: 'EACCES' });
    const error = new FileError('read', '/srv/x', cause);
    expect(error.message).toBe('cannot read /srv/x: permission denied');
    expect(error).toMatchObject({ code: 'EACCES', exitCode: 1, hint: 'check its owner and permissions' });
  });
});
