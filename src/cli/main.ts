/**
 * The host's command: parses the words and hands over to one file per verb, loaded only when called.
 */
import { Command } from 'commander';
import { configured, runCommandLine } from '../lib/command-line.ts';
import type { GlobalOptions } from './global-options.ts';
import { passedWords } from './passed-words.ts';
import { addCheckVerbs } from './program/checks.ts';
import { addConfigVerbs } from './program/config.ts';
import type { Grammar, Runs, RunsMany } from './program/grammar.ts';
import { addImageVerbs } from './program/image.ts';
import { addJobVerbs } from './program/jobs.ts';
import { addLifeVerbs } from './program/life.ts';
import { addPortVerbs } from './program/ports.ts';
import { addSandboxVerbs } from './program/sandbox.ts';
import { addSessionVerbs } from './program/sessions.ts';
import { addStateVerbs } from './program/state.ts';
import { addVolumeVerbs } from './program/volumes.ts';

const { words, rest } = passedWords(process.argv);

const program = configured(
  new Command('pi-sandbox')
    .description('Run the pi coding agent in a locked-down container')
    .option('--engine <context|url>', 'the engine to use instead of the one found'),
  PI_SANDBOX_VERSION,
);

/** Runs a verb and turns its result into the exit code. */
const runs: Runs =
  (verb) =>
  async (...given) => {
    const [argument, options] = given.length === 3 ? [given[0], given[1]] : [undefined, given[0]];
    process.exitCode = await verb(argument, { ...program.opts<GlobalOptions>(), ...options });
  };

const runsMany: RunsMany = (verb) => async (words, options) => {
  process.exitCode = await verb(words, { ...program.opts<GlobalOptions>(), ...options });
};

const grammar: Grammar = { program, runs, runsMany, rest };
/** In the order of `--help`. */
for (const add of [
  addSandboxVerbs,
  addJobVerbs,
  addLifeVerbs,
  addPortVerbs,
  addSessionVerbs,
  addCheckVerbs,
  addConfigVerbs,
  addImageVerbs,
  addVolumeVerbs,
  addStateVerbs,
]) {
  add(grammar);
}

// Not awaited here: the bundle is a script, which has no await of its own.
void runCommandLine(program, words);
