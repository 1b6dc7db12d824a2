import { expect, it } from 'vitest';
import { median, quantile, summarize, verdictOf } from '../../../bench/statistics.ts';

it('measures: the median lies between the two middle values of an even number of runs', () => {
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(median([9, 1, 5])).toBe(5);
});

it('measures: a quantile between two values is taken by proportion', () => {
  expect(quantile([10, 20, 30, 40, 50], 0.25)).toBe(20);
  expect(quantile([10, 20], 0.75)).toBe(17.5);
  expect(() => quantile([], 0.5)).toThrow('no values');
});

it('measures: the ratio is the median of the pairs, so that a slow minute changes nothing', () => {
  const quiet = { ours: 110, baseline: 100 };
  const busy = { ours: 330, baseline: 300 };
  const { ratio, spread } = summarize([quiet, busy, quiet, busy]);
  expect(ratio).toBeCloseTo(1.1);
  expect(spread).toBeCloseTo(0);
});

it('measures: a goal is missed only by more than the spread', () => {
  expect(verdictOf({ ratio: 1.15, spread: 0 }, 1.15)).toBe('met');
  expect(verdictOf({ ratio: 1.2, spread: 0.06 }, 1.15)).toBe('within spread');
  expect(verdictOf({ ratio: 1.3, spread: 0.06 }, 1.15)).toBe('missed');
});
