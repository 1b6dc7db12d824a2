import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countsAsUsed, decide, overSize, type RunFacts } from '../../../src/work/decide.ts';
import {
  DEFAULT_RETENTION,
  RETENTION_CEILING,
  RetentionError,
  retentionOf,
} from '../../../src/work/index.ts';
import { measureFairly } from '../../../src/work/measure.ts';

const DAY = 86_400_000;
const NOW = 1_000 * DAY;
const MIB = 1024 * 1024;

function run(id: string, { days = 0, mib = 0, active = false, complete = true } = {}): RunFacts {
  return { id, active, lastUse: NOW - days * DAY, size: { bytes: mib * MIB, complete } };
}

function ids(decisions: readonly { id: string }[]): string[] {
  return decisions.map(({ id }) => id).sort();
}

const anyRuns = fc
  .array(
    fc.record({
      active: fc.boolean(),
      days: fc.integer({ min: -2, max: 60 }),
      bytes: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.constantFrom(100, 1_000)),
      complete: fc.oneof(
        { weight: 9, arbitrary: fc.constant(true) },
        { weight: 1, arbitrary: fc.constant(false) },
      ),
    }),
    { maxLength: 30 },
  )
  .map((runs) =>
    runs.map(
      ({ active, days, bytes, complete }, n): RunFacts => ({
        id: `r${n}`,
        active,
        lastUse: NOW - days * DAY,
        size: { bytes, complete },
      }),
    ),
  );
const anyPolicy = fc.record({
  maxAgeDays: fc.integer({ min: 0, max: 40 }),
  maxRuns: fc.integer({ min: 0, max: 20 }),
  maxBytes: fc.integer({ min: 0, max: 300 }),
});
const SETTINGS = { seed: 7, numRuns: 1_000 };

describe('which runs go', () => {
  it('W7: never one in use, whatever the policy', () => {
    fc.assert(
      fc.property(anyRuns, anyPolicy, (runs, policy) => {
        const going = new Set(ids(decide(runs, { ...DEFAULT_RETENTION, ...policy }, NOW)));
        expect(runs.filter(({ id, active }) => active && going.has(id))).toEqual([]);
      }),
      SETTINGS,
    );
  });

  it('W7: after it the policy holds for what nobody uses', () => {
    fc.assert(
      fc.property(anyRuns, anyPolicy, (runs, policy) => {
        const going = new Set(ids(decide(runs, { ...DEFAULT_RETENTION, ...policy }, NOW)));
        const left = runs.filter(({ id, active }) => !active && !going.has(id));
        expect(left.length).toBeLessThanOrEqual(policy.maxRuns);
        expect(left.every(({ lastUse }) => NOW - lastUse <= policy.maxAgeDays * DAY)).toBe(true);
        expect(left.every(({ size }) => size.complete)).toBe(true);
        expect(left.reduce((bytes, { size }) => bytes + size.bytes, 0)).toBeLessThanOrEqual(policy.maxBytes);
      }),
      SETTINGS,
    );
  });

  it('W7: each that goes has a reason: without it the policy would not hold', () => {
    fc.assert(
      fc.property(anyRuns, anyPolicy, (runs, policy) => {
        const decisions = decide(runs, { ...DEFAULT_RETENTION, ...policy }, NOW);
        const going = new Map(decisions.map(({ id, why }) => [id, why]));
        const left = runs.filter(({ id, active }) => !active && !going.has(id));
        const bytes = left.reduce((total, { size }) => total + size.bytes, 0);
        for (const one of runs) {
          const why = going.get(one.id);
          const tooOld = NOW - one.lastUse > policy.maxAgeDays * DAY;
          if (why === 'age') expect(tooOld).toBe(true);
          if (why === 'unmeasured') expect(one.size.complete).toBe(false);
          if (why === 'bytes') expect(bytes + one.size.bytes).toBeGreaterThan(policy.maxBytes);
          if (why === 'count') {
            const newer = runs.filter(
              (other) => !other.active && other.lastUse >= one.lastUse && other !== one,
            );
            expect(newer.length).toBeGreaterThanOrEqual(policy.maxRuns);
          }
        }
      }),
      SETTINGS,
    );
  });

  it('W7: none that was seen goes because of what was not: more runs never save one, and fewer never cost one', () => {
    fc.assert(
      fc.property(anyRuns, anyPolicy, fc.integer({ min: 0, max: 30 }), (runs, policy, cutAt) => {
        const limits = { ...DEFAULT_RETENTION, ...policy, maxBytes: Number.MAX_SAFE_INTEGER };
        const seen = runs.slice(0, cutAt);
        const all = new Set(ids(decide(runs, limits, NOW)));
        expect(ids(decide(seen, limits, NOW)).filter((id) => !all.has(id))).toEqual([]);
      }),
      SETTINGS,
    );
  });

  it('W7: fewer bytes seen never make more of them go', () => {
    fc.assert(
      fc.property(anyRuns, anyPolicy, fc.integer({ min: 0, max: 30 }), (runs, { maxBytes }, cutAt) => {
        const measured = runs.map((one) => ({ ...one, size: { ...one.size, complete: true } }));
        const going = (some: RunFacts[]) => overSize(some, maxBytes).map(({ id }) => id);
        const total = measured
          .slice(0, cutAt)
          .reduce((sum, { active, size }) => sum + (active ? 0 : size.bytes), 0);
        if (total <= maxBytes) expect(going(measured.slice(0, cutAt))).toEqual([]);
      }),
      SETTINGS,
    );
  });

  it('W7: one huge run goes itself, and pushes out no older small one', () => {
    const runs = [
      run('huge', { mib: 2_000 }),
      ...[1, 5, 9].map((days) => run(`small-${days}`, { days, mib: 10 })),
    ];
    expect(decide(runs, DEFAULT_RETENTION, NOW)).toEqual([{ id: 'huge', why: 'bytes' }]);
  });

  it('W7: several huge ones go, and still no small one in vain', () => {
    const huge = [1, 2, 3].map((days) => run(`huge-${days}`, { days, mib: 2_000 }));
    const small = [5, 6, 7].map((days) => run(`small-${days}`, { days, mib: 10 }));
    expect(ids(decide([...huge, ...small], DEFAULT_RETENTION, NOW))).toEqual(['huge-1', 'huge-2', 'huge-3']);
  });

  it('W7: of several that would each be enough, the largest; of those as large, the oldest', () => {
    const runs = [
      run('a', { days: 3, mib: 300 }),
      run('b', { days: 2, mib: 400 }),
      run('c', { days: 1, mib: 400 }),
    ];
    expect(decide(runs, { ...DEFAULT_RETENTION, maxBytes: 800 * MIB }, NOW)).toEqual([
      { id: 'b', why: 'bytes' },
    ]);
  });

  it('W7: while no single one is enough, the oldest', () => {
    const runs = [1, 2, 3, 4].map((days) => run(`d${days}`, { days, mib: 200 }));
    expect(ids(decide(runs, { ...DEFAULT_RETENTION, maxBytes: 400 * MIB }, NOW))).toEqual(['d3', 'd4']);
  });

  it('W7: what is past age or count goes first, and may be all that has to', () => {
    const runs = [run('old', { days: 31, mib: 500 }), run('new', { mib: 500 })];
    expect(decide(runs, DEFAULT_RETENTION, NOW)).toEqual([{ id: 'old', why: 'age' }]);
    const counted = [run('second', { days: 2, mib: 500 }), run('first', { mib: 500 })];
    expect(decide(counted, { ...DEFAULT_RETENTION, maxRuns: 1 }, NOW)).toEqual([
      { id: 'second', why: 'count' },
    ]);
  });

  it('W7: a size that was not seen to its end is over the budget for that run alone', () => {
    const runs = [run('cut', { mib: 1, complete: false }), ...[1, 2].map((n) => run(`r${n}`, { mib: 200 }))];
    expect(decide(runs, DEFAULT_RETENTION, NOW)).toEqual([{ id: 'cut', why: 'unmeasured' }]);
  });

  it('W7: what is in use takes nothing of the others’ room', () => {
    const runs = [run('held', { mib: 5_000, active: true }), run('free', { days: 5, mib: 500 })];
    expect(decide(runs, DEFAULT_RETENTION, NOW)).toEqual([]);
  });

  it('W7: a last use of a clock that was ahead neither makes a run too old nor lets it push out a fresh one', () => {
    const counted = [-500, -400, 1].map((days) => {
      const one = run(`d${days}`, { days });
      return { ...one, lastUse: countsAsUsed(one.lastUse, DEFAULT_RETENTION, NOW) };
    });
    expect(decide(counted, DEFAULT_RETENTION, NOW)).toEqual([]);
    const going = decide(counted, { ...DEFAULT_RETENTION, maxRuns: 1 }, NOW);
    expect(going.map(({ id }) => id)).toEqual(['d-400', 'd-500']);
  });
});

describe('limits', () => {
  it('W7: have defaults and ceilings', () => {
    const GIB = 1024 * MIB;
    expect(DEFAULT_RETENTION).toEqual({
      ...{ maxAgeDays: 30, maxRuns: 64, maxBytes: 512 * MIB },
      ...{ maxScannedRuns: 10_000, maxScannedEntries: 100_000, maxDepth: 64 },
    });
    expect(RETENTION_CEILING).toMatchObject({
      ...{ maxAgeDays: 365, maxRuns: 1_024, maxBytes: 64 * GIB },
      ...{ maxScannedRuns: 100_000, maxScannedEntries: 1_000_000 },
    });
    expect(retentionOf({ maxRuns: 3 })).toEqual({ ...DEFAULT_RETENTION, maxRuns: 3 });
  });

  it.each([
    { maxAgeDays: 366 },
    { maxAgeDays: -1 },
    { maxAgeDays: Number.NaN },
    { maxRuns: 1_025 },
    { maxRuns: 1.5 },
    { maxBytes: Number.POSITIVE_INFINITY },
    { maxScannedEntries: 0 },
  ])('W7: %j is refused', (given) => {
    expect(() => retentionOf(given)).toThrow(RetentionError);
  });

  it('W3: of an extension are lowered to the ceiling', () => {
    const asked = { maxAgeDays: 9_999, maxRuns: Number.POSITIVE_INFINITY, maxBytes: 1 };
    expect(retentionOf(asked, { beyond: 'lower' })).toEqual({
      ...DEFAULT_RETENTION,
      ...{ maxAgeDays: 365, maxRuns: 1_024, maxBytes: 1 },
    });
    expect(() => retentionOf({ maxRuns: -1 }, { beyond: 'lower' })).toThrow(RetentionError);
  });
});

describe('measuring', () => {
  /** Measures trees of so many entries, and counts what was looked at. */
  async function measure(entries: Record<string, number>, budget: number) {
    let looked = 0;
    // The first is the oldest.
    const runs = Object.keys(entries).map((id, n) => ({ id, lastUse: n }));
    const sizes = await measureFairly(runs, budget, async (id, max) => {
      const seen = Math.min(entries[id] ?? 0, max);
      looked += seen;
      return { bytes: seen, entries: seen, complete: seen === entries[id] };
    });
    const complete = runs.map(({ id }) => id).filter((id) => sizes.get(id)?.complete);
    return { complete, looked };
  }

  it.each(['first', 'last'])('W7: one huge run takes no other’s share, listed %s', async (where) => {
    const small = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`s${n}`, 6]));
    const entries = where === 'first' ? { huge: 1_000, ...small } : { ...small, huge: 1_000 };
    expect((await measure(entries, 100)).complete).toEqual(Object.keys(small));
  });

  it('W7: of many large ones the newest are measured, as many as fit', async () => {
    const entries = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`r${n}`, 20]));
    expect((await measure(entries, 100)).complete).toEqual(['r5', 'r6', 'r7', 'r8', 'r9']);
  });

  it('W7: all are measured while they have no more entries together than are looked at', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 20 }), async (counts) => {
        const entries = Object.fromEntries(counts.map((count, n) => [`r${n}`, count]));
        const total = counts.reduce((sum, count) => sum + count, 0);
        const { complete } = await measure(entries, Math.max(1, total));
        expect(complete).toHaveLength(counts.length);
      }),
      SETTINGS,
    );
  });

  it('W7: what is measured has no more entries together than may be, and the work is bounded', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 10_000 }), { maxLength: 40 }),
        fc.integer({ min: 1, max: 500 }),
        async (counts, budget) => {
          const entries = Object.fromEntries(counts.map((count, n) => [`r${n}`, count]));
          const { complete, looked } = await measure(entries, budget);
          expect(complete.reduce((sum, id) => sum + (entries[id] ?? 0), 0)).toBeLessThanOrEqual(budget);
          // Sixteen, and then each sees half as much again, up to the whole budget.
          const looks = 17 + Math.ceil(Math.log(budget) / Math.log(1.5));
          expect(looked).toBeLessThanOrEqual(Math.max(budget, counts.length) * looks);
        },
      ),
      SETTINGS,
    );
  });
});
