/** How the values of options of `runs` are read; a wrong one is commander's to refuse. */
import { InvalidArgumentError } from 'commander';
import { LIMITS } from '../../runs/index.ts';

/** A whole number from 1 to `most`. */
export function countUpTo(most: number): (text: string) => number {
  return (text) => {
    const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (count >= 1 && count <= most) return count;
    throw new InvalidArgumentError(`a number from 1 to ${most.toLocaleString('en')} is expected`);
  };
}

export const maxStepsOf = countUpTo(LIMITS.mostSteps);
