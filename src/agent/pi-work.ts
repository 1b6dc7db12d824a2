/**
 * `pi-work`: work directories, wherever pi runs (W8). Each verb is loaded only when it is called; src/agent/work/README.md
 * says how one is added.
 */
import { Command } from 'commander';
import { configured, runCommandLine } from '../lib/command-line.ts';
import { addRunVerbs } from './work/run-verbs.ts';

const program = configured(
  new Command('pi-work').description('Look after the work directories below pi’s agent directory'),
  PI_SANDBOX_VERSION,
);
/** In the order of `--help`. */
for (const add of [addRunVerbs]) add(program);

await runCommandLine(program, process.argv);
