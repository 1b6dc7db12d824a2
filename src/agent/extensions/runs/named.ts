import { type KnownRun, type RunDirectory, readKnownRun } from '../../../runs/index.ts';
import { runNamed } from '../../runs/named.ts';
import { runDetails } from '../../runs/run-json.ts';
import type { TeamCall, TeamReply } from './call.ts';

/** The run that the call is about. @throws Error without one; InvalidRunIdError, RunError */
export function runAsked({ here, aliases, asked }: TeamCall): Promise<RunDirectory> {
  return runNamed(here, aliases.resolve(asked.needed('run')));
}

/** The same, read. @throws RunError `damaged`, `schema-version-too-old`, `schema-version-too-new` too */
export async function knownRunAsked(call: TeamCall): Promise<KnownRun> {
  return readKnownRun(await runAsked(call));
}

/** All about a run and its steps, under the name that this Session has for it. */
export function told({ here, aliases }: TeamCall, run: KnownRun, more: object = {}): TeamReply {
  const alias = aliases.of(run.id);
  const facts = {
    ...(alias === undefined ? {} : { alias }),
    ...runDetails(run, here.caller),
    ...more,
  };
  return { facts, run, tellsState: true, command: `multi-agent runs status ${run.id} --json` };
}
