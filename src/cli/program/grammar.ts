import { type Command, InvalidArgumentError } from 'commander';
import type { GlobalOptions } from '../global-options.ts';

/** Makes commander's action of a verb: its argument and options with the global ones, its result the exit code. */
export type Runs = <Options extends object>(
  verb: (argument: string | undefined, options: Options & GlobalOptions) => Promise<number>,
) => (...given: [string | undefined, Options, Command] | [Options, Command]) => Promise<void>;

/** The same for a verb that takes any number of words. */
export type RunsMany = <Options extends object>(
  verb: (words: string[], options: Options & GlobalOptions) => Promise<number>,
) => (words: string[], options: Options) => Promise<void>;

/** What a group of verbs needs to add itself to the program. */
export interface Grammar {
  readonly program: Command;
  readonly runs: Runs;
  readonly runsMany: RunsMany;
  /** What stands after `--`: the words of the program in the sandbox, never looked at here. */
  readonly rest: readonly string[];
}

/** How `[project]` is described wherever a project is expected. */
export const PROJECT = 'directory of the project (default: the current one)';
/** How `--domain` is described where it chooses the project's domain. */
export const DOMAIN = 'the domain, instead of the one the project lies in';

/** A whole number of an option. */
export function count(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('a whole number is expected');
  return Number(text);
}

/** Collects an option that may be given several times. */
export function several(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}

/** The examples at the end of a verb's help; each line stands after `pi-sandbox`. */
export function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ pi-sandbox ${line}`).join('\n')}`;
}
