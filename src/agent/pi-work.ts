/**
 * `pi-work`: work directories and the agent directory, wherever pi runs (W8, W10-W12). Each verb is loaded only when it is called; src/agent/work/README.md
 * says how one is added.
 */
import { Command } from 'commander';
import { configured, runCommandLine } from '../lib/command-line.ts';
import { addLayoutVerbs } from './work/layout-verbs.ts';
import { addRunVerbs } from './work/run-verbs.ts';

const program = configured(
  new Command('pi-work').description(
    'Look after the work directories below pi’s agent directory, and after that directory',
  ),
  PI_SANDBOX_VERSION,
);
/** In the order of `--help`. */
for (const add of [addRunVerbs, addLayoutVerbs]) add(program);

await runCommandLine(program, process.argv);
