import type { Random } from './random.ts';

/** One kind of fault, tried any number of times in a world; what each try has left is looked for by an inspection. */
export interface FaultCase<World> {
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

/** How a world is looked at after each try. It shares no code with what is tried. */
export interface Inspection<World> {
  /** What may be left over, each a column of the report. */
  readonly kinds: readonly string[];
  /** What of the command line leads to this world again, with a space at its end. */
  flags?(world: World): string;
  /** Ends what the try has begun. */
  settle(world: World): Promise<void>;
  /** Items that must be there and are not. */
  losses(world: World): Promise<string[]>;
  /** What must not be there, by kind. */
  leaks(world: World): Promise<Leaks>;
  /** Removes what one try has left, so that it is not counted again at the next. */
  clear(world: World): Promise<void>;
}

export type Leaks = Readonly<Record<string, readonly string[]>>;

export interface Scale {
  /** How many commands at once. */
  crowd: number;
}
