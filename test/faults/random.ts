/** Chance that can be had again: one stream of numbers for each fault, from the run's seed, its case and its number. */
import { createHash } from 'node:crypto';

export interface Random {
  /** From 0 up to, and without, 1. */
  fraction(): number;
  /** A whole number from 0 up to, and without, `below`. */
  below(below: number): number;
  pick<const T>(values: readonly [T, ...T[]]): T;
}

export function randomOf(...words: readonly (string | number)[]): Random {
  let state = createHash('sha256').update(words.join('/')).digest().readUInt32LE(0);
  // Mulberry32: a few lines, and good enough to choose moments and bits.
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(fraction() * limit);
  return { fraction, below, pick: (values) => values[below(values.length)] ?? values[0] };
}
