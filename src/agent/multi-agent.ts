/**
 * `multi-agent`: named background agents, wherever pi runs (J1-J16), and graphs of them (R4). Each verb is
 * loaded only when it is called; src/agent/jobs/README.md says how one is added.
 */
import { Command } from 'commander';
import { configured, runCommandLine } from '../lib/command-line.ts';
import { addControlVerbs } from './jobs/control-verbs.ts';
import { addKeepVerbs } from './jobs/keep-verbs.ts';
import { addLookVerbs } from './jobs/look-verbs.ts';
import { addStartVerbs } from './jobs/start-verbs.ts';
import { promptsThatBeginWithADash, splitPiArguments } from './jobs/words.ts';
import { addRunVerbs } from './runs/verbs.ts';

const program = configured(
  new Command('multi-agent').description(
    'Start pi agents as named background jobs of a project, and watch, steer, stop and resume them',
  ),
  PI_SANDBOX_VERSION,
);
const { words, piArguments } = splitPiArguments(process.argv);
/** In the order of `--help`. */
for (const add of [addStartVerbs, addLookVerbs, addControlVerbs, addKeepVerbs, addRunVerbs])
  add(program, piArguments);

// Not awaited here: the bundle is a script, which has no await of its own.
void runCommandLine(program, promptsThatBeginWithADash(program, words));
