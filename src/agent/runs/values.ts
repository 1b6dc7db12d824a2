/** How the values of options of `runs` are read; a wrong one is commander's to refuse. */
import { InvalidArgumentError } from 'commander';
import {
  LIMITS,
  type ListedStatus,
  type Manifest,
  RUN_STATUSES,
  STRANGE_STATUSES,
} from '../../runs/index.ts';

/** A whole number from `least` to `most`. */
export function countBetween(least: number, most: number): (text: string) => number {
  return (text) => {
    const count = /^\d{1,15}$/.test(text) ? Number(text) : -1;
    if (count >= least && count <= most) return count;
    throw new InvalidArgumentError(`a number from ${least} to ${most.toLocaleString('en')} is expected`);
  };
}

/** A whole number from 1 to `most`. */
export function countUpTo(most: number): (text: string) => number {
  return countBetween(1, most);
}

export const maxStepsOf = countUpTo(LIMITS.mostSteps);

const RETRIES: readonly Manifest['retry'][] = ['died', 'none'];

export function retryOf(text: string): Manifest['retry'] {
  const retry = RETRIES.find((known) => known === text);
  if (retry !== undefined) return retry;
  throw new InvalidArgumentError(`use one of ${RETRIES.join(', ')}`);
}

const STATUSES: readonly ListedStatus[] = [...RUN_STATUSES, ...STRANGE_STATUSES];

/** One or several, with commas or given again. */
export function runStatusesOf(text: string, before: readonly ListedStatus[] = []): ListedStatus[] {
  const wanted = text.split(',').map((word) => {
    const status = STATUSES.find((known) => known === word.trim());
    if (status === undefined) throw new InvalidArgumentError(`use of ${STATUSES.join(', ')}`);
    return status;
  });
  return [...before, ...wanted];
}
