/** The few figures that a row of `npm run bench` is made of. */

/** One pair of runs that followed each other directly, in milliseconds. */
export interface Pair {
  readonly ours: number;
  readonly baseline: number;
}

export interface Summary {
  /** Median of the pairs' own ratios, ours over baseline: noise that lasts longer than a pair cancels out. */
  readonly ratio: number;
  /** Interquartile range of the same ratios. */
  readonly spread: number;
}

/** `missed` only beyond the spread: closer than that, the next run could say otherwise. */
export type Verdict = 'met' | 'within spread' | 'missed';

/**
 * The value below which the fraction `at` (0 to 1) of the values lies, between two neighbours by proportion.
 *
 * @throws RangeError for no values
 */
export function quantile(values: readonly number[], at: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const position = (sorted.length - 1) * at;
  const low = sorted[Math.floor(position)];
  const high = sorted[Math.ceil(position)];
  if (low === undefined || high === undefined) throw new RangeError('no values');
  return low + (high - low) * (position - Math.floor(position));
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function summarize(pairs: readonly Pair[]): Summary {
  const ratios = pairs.map(({ ours, baseline }) => ours / baseline);
  return { ratio: median(ratios), spread: quantile(ratios, 0.75) - quantile(ratios, 0.25) };
}

/** Whether a ratio that should be at most `goal` is. */
export function verdictOf({ ratio, spread }: Summary, goal: number): Verdict {
  if (ratio <= goal) return 'met';
  return ratio - spread <= goal ? 'within spread' : 'missed';
}
