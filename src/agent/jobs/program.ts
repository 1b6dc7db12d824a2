/** `multi-agent` but for its graphs. Each verb is loaded only when it is called; README.md says how one is added. */
import type { Command } from 'commander';
import { runCommandLine } from '../../lib/command-line.ts';
import { GRAPHS, multiAgent } from '../multi-agent-command.ts';
import { addControlVerbs } from './control-verbs.ts';
import { addKeepVerbs } from './keep-verbs.ts';
import { addLookVerbs } from './look-verbs.ts';
import { addStartVerbs } from './start-verbs.ts';
import { promptsThatBeginWithADash, splitPiArguments } from './words.ts';

const program = multiAgent();
const { words, piArguments } = splitPiArguments(process.argv);
/** In the order of `--help`. */
for (const add of [addStartVerbs, addLookVerbs, addControlVerbs, addKeepVerbs, nameGraphs])
  add(program, piArguments);

// Not awaited here: the bundle is a script, which has no await of its own.
void runCommandLine(program, promptsThatBeginWithADash(program, words));

/** For `--help`; who calls it gets another program. */
function nameGraphs(to: Command): void {
  to.command(GRAPHS.name).description(GRAPHS.description).helpCommand(false);
}
