import type { Random } from './random.ts';
import type { World } from './world.ts';

/** One kind of fault, tried any number of times; each try begins with no sandbox running and ends with `stop --all`. */
export interface FaultCase {
  readonly name: string;
  /** What is done and what must hold, in one line. */
  readonly about: string;
  /** How often it is tried by hand when nothing is said, and in the tests. */
  readonly tries: { usual: number; few: number };
  /** Once before the first try. */
  prepare?(world: World): Promise<void>;
  /** Throws when something does not hold. `note` describes what chance has chosen, for the report of a failure. */
  attempt(world: World, random: Random, note: (text: string) => void, scale: Scale): Promise<void>;
  /** Once after the last try, however it ended. */
  finish?(): Promise<void>;
}

export interface Scale {
  /** How many commands at once. */
  crowd: number;
}
