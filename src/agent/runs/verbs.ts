/** `multi-agent runs …` (R4): groups of verbs, in the order of `--help`. Each verb is loaded only when it is called. */
import type { Command } from 'commander';
import { GRAPHS } from '../multi-agent-command.ts';
import { addRunChangeVerbs } from './change-verbs.ts';
import { addRunLookVerbs } from './look-verbs.ts';
import { addScheduleVerbs } from './schedule-verbs.ts';
import { addRunStartVerbs } from './start-verbs.ts';

export function addRunVerbs(program: Command): void {
  const runs = program.command(GRAPHS.name).description(GRAPHS.description).helpCommand(false);
  for (const add of [addRunStartVerbs, addRunLookVerbs, addRunChangeVerbs, addScheduleVerbs]) add(runs);
}
