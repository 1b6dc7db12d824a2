import { warn } from '../ui/report.ts';
import { attach } from './attach.ts';
import { type Ending, exitCodeAfter, exitCodeOf } from './ending.ts';
import { changesSince, rememberHostExecuted } from './host-executed.ts';
import { openSandbox } from './open-sandbox.ts';
import { type PreparedStart, type ProgramChoice, prepareStart } from './prepare-start.ts';
import { relayServices } from './relay-services.ts';
import type { StartOptions } from './start-options.ts';

/**
 * Runs a program in the project's sandbox with the user's streams, and returns its exit code: the sentence that `start`
 * and `shell` are two cases of.
 */
export async function runInSandbox(
  argument: string | undefined,
  choice: ProgramChoice,
  options: StartOptions,
): Promise<number> {
  const prepared = await prepareStart(argument, choice, options);
  const before = rememberHostExecuted(prepared.sandbox.project.canonical);
  // A sandbox that runs already: what is offered now counts before this program's first question.
  const relaysStarted = new Set<string>();
  await relayServices(prepared, options.engine, relaysStarted);
  const { connection, joined } = await openSandbox(prepared.plan);
  await relayServices(prepared, options.engine, relaysStarted);
  prepared.plan.debug(joined ? 'joined the running sandbox' : 'started a new sandbox');
  const ending = await attach(connection, process, choice.terminal);
  for (const change of await changesSince(await before)) {
    warn(`this session changed what programs on the host may execute: ${change}`);
  }
  try {
    return await exitOf(ending, prepared, choice);
  } finally {
    prepared.close();
  }
}

async function exitOf(
  ending: Ending,
  { plan, sandbox }: PreparedStart,
  choice: ProgramChoice,
): Promise<number> {
  const name = { name: sandbox.name, project: sandbox.project.display };
  const code = await exitCodeAfter(ending, plan.engine, name);
  // pi saves and leaves with 0 then; whoever ended this command by a signal is told so all the same.
  const graceful = code === 0 && choice.program === 'pi' && choice.terminal && ending.signal !== undefined;
  return graceful ? exitCodeOf({ code: null, signal: ending.signal ?? null }) : code;
}
