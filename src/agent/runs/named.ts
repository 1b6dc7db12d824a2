import { findRun, type KnownRun, type RunDirectory, readKnownRun } from '../../runs/index.ts';
import type { RunContext } from './context.ts';

/** A run by what was typed. @throws InvalidRunIdError, RunError `not-found`, `ambiguous` */
export function runNamed({ place, jobs }: RunContext, text: string): Promise<RunDirectory> {
  return findRun(place, text, { project: jobs.project.real });
}

/** The same, read. @throws RunError `damaged`, `schema-version-too-old`, `schema-version-too-new` too */
export async function knownRunNamed(context: RunContext, text: string): Promise<KnownRun> {
  return readKnownRun(await runNamed(context, text));
}
