import { describe, expect, it } from 'vitest';
import { Living } from '../../../src/container/living.ts';
import type { ProcessInfo } from '../../../src/container/processes.ts';
import { descendantsOf, strayProcesses } from '../../../src/container/processes.ts';
import type { Clock } from '../../../src/lib/clock.ts';

/** A clock that stands still until it is moved. */
function fakeClock(): Clock & { advance(milliseconds: number): Promise<void> } {
  let now = 0;
  let sleepers: Array<{ until: number; wake: () => void }> = [];
  return {
    now: () => new Date(now),
    monotonic: () => now,
    sleep: (milliseconds, signal) =>
      new Promise((resolve, reject) => {
        const sleeper = { until: now + milliseconds, wake: resolve };
        sleepers.push(sleeper);
        signal?.addEventListener('abort', () => reject(signal.reason));
      }),
    async advance(milliseconds) {
      now += milliseconds;
      const due = sleepers.filter(({ until }) => until <= now);
      sleepers = sleepers.filter(({ until }) => until > now);
      for (const { wake } of due) wake();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

describe('what lives', () => {
  function living(idleMs: number) {
    const clock = fakeClock();
    const state = { idle: 0 };
    return { clock, state, living: new Living(clock, idleMs, () => state.idle++) };
  }

  it('S14: idle comes once, after the whole time with nothing alive', async () => {
    const { clock, state, living: alive } = living(1_000);
    const thing = alive.add({ kind: 'client', id: 'a' });
    await clock.advance(5_000);
    expect(state.idle).toBe(0);
    alive.remove(thing);
    alive.remove(thing);
    await clock.advance(999);
    expect(state.idle).toBe(0);
    await clock.advance(1);
    expect(state.idle).toBe(1);
    await clock.advance(10_000);
    expect(state.idle).toBe(1);
  });

  it('S14: what comes in between starts the time anew, also in the last moment', async () => {
    const { clock, state, living: alive } = living(1_000);
    await clock.advance(999);
    const thing = alive.add({ kind: 'session', id: 'a', pid: 7 });
    await clock.advance(1);
    alive.remove(thing);
    await clock.advance(999);
    expect(state.idle).toBe(0);
    await clock.advance(1);
    expect(state.idle).toBe(1);
  });

  it('S14: a year of idling is a year, longer than a timer can be set to', async () => {
    const year = 525_600 * 60_000;
    const { clock, state, living: alive } = living(1_000);
    alive.setIdle(year);
    for (let passed = 0; passed < year - 2 ** 31; passed += 2 ** 31) {
      await clock.advance(2 ** 31);
      expect(state.idle).toBe(0);
    }
    await clock.advance(2 ** 31);
    expect(state.idle).toBe(1);
  });

  it('S14: with no idle time at all it ends with the last thing that lives', async () => {
    const { state, living: alive } = living(1_000);
    const thing = alive.add({ kind: 'client', id: 'a' });
    alive.setIdle(0);
    expect(state.idle).toBe(0);
    alive.remove(thing);
    expect(state.idle).toBe(1);
  });
});

describe('stray processes', () => {
  const info = (pid: number, parent: number, session: number, command = 'x'): ProcessInfo => ({
    pid,
    parent,
    session,
    command,
    startTime: String(pid),
  });
  const own = process.pid;
  const processes = [
    info(1, 0, 1, 'tini'),
    info(own, 1, 1, 'supervisor'),
    info(10_000_010, own, 10_000_010, 'pi'),
    info(10_000_011, 10_000_010, 10_000_011, 'tool of pi'),
    info(10_000_012, 1, 10_000_010, 'background job of pi'),
    info(10_000_013, 10_000_012, 10_000_013, 'child of that'),
    info(10_000_020, 0, 10_000_020, 'socat STDIO UNIX-CONNECT:/run/user/1/pi-sandbox/supervisor.sock'),
    info(10_000_030, 1, 10_000_029, `left behind ${'y'.repeat(500)}`),
    info(10_000_031, 10_000_030, 10_000_031, 'child of what was left behind'),
  ];

  it('S14: what descends from nothing alive and is in the session of nothing alive', () => {
    const stray = strayProcesses([10_000_010], processes);
    expect(stray.map(({ pid }) => pid)).toEqual([10_000_030, 10_000_031]);
    expect(stray[0]?.command).toHaveLength(200);
  });

  it('S14: descendants are found through any number of generations', () => {
    expect(descendantsOf(10_000_010, processes).map(({ pid }) => pid)).toEqual([10_000_011]);
    expect(descendantsOf(10_000_012, processes).map(({ pid }) => pid)).toEqual([10_000_013]);
  });
});
