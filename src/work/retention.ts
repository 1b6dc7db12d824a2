/** Limits of a tenant's retention: their defaults, their ceilings, and what a caller may ask for (W7). */
import { RetentionError } from './errors.ts';
import type { WorkRetention } from './types.ts';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

export const DEFAULT_RETENTION: WorkRetention = {
  maxAgeDays: 30,
  maxRuns: 64,
  maxBytes: 512 * MIB,
  maxScannedRuns: 10_000,
  maxScannedEntries: 100_000,
  maxDepth: 64,
};

export const RETENTION_CEILING: WorkRetention = {
  maxAgeDays: 365,
  maxRuns: 1_024,
  maxBytes: 64 * GIB,
  maxScannedRuns: 100_000,
  maxScannedEntries: 1_000_000,
  maxDepth: 256,
};

/** What all tenants together may keep that nobody uses, in bytes. */
export const TOTAL_BYTES: number = 8 * GIB;

/** A scan of nothing would take everything for unmeasured. */
const LEAST: WorkRetention = {
  maxAgeDays: 0,
  maxRuns: 0,
  maxBytes: 0,
  maxScannedRuns: 1,
  maxScannedEntries: 1,
  maxDepth: 1,
};

/**
 * A whole retention from what a caller gave of it.
 *
 * @param beyond what becomes of a limit above its ceiling: an extension's is lowered to it
 * @throws RetentionError for what is no number, below its least, or above its ceiling
 */
export function retentionOf(
  given: Partial<WorkRetention> = {},
  { beyond = 'refuse' }: { beyond?: 'refuse' | 'lower' } = {},
): WorkRetention {
  const limit = (name: keyof WorkRetention): number => {
    const value = given[name] ?? DEFAULT_RETENTION[name];
    const [least, ceiling] = [LEAST[name], RETENTION_CEILING[name]];
    // Infinity is a number that a ceiling can lower; NaN is none.
    if (typeof value !== 'number' || Number.isNaN(value)) throw new RetentionError(name, 'is no number');
    if (value < least) throw new RetentionError(name, `is less than ${least}`);
    if (name !== 'maxAgeDays' && value <= ceiling && !Number.isInteger(value))
      throw new RetentionError(name, 'is no whole number');
    if (value <= ceiling) return value;
    if (beyond === 'lower') return ceiling;
    throw new RetentionError(name, `is more than ${ceiling}`);
  };
  return {
    maxAgeDays: limit('maxAgeDays'),
    maxRuns: limit('maxRuns'),
    maxBytes: limit('maxBytes'),
    maxScannedRuns: limit('maxScannedRuns'),
    maxScannedEntries: limit('maxScannedEntries'),
    maxDepth: limit('maxDepth'),
  };
}
