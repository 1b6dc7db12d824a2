/** What a verb of `multi-agent runs` works with: what the jobs' verbs have, and where the runs lie. */
import { homedir } from 'node:os';
import { type RunCaller, type RunDeps, type RunsPlace, runCaller, runsPlace } from '../../runs/index.ts';
import { type JobContext, jobContext } from '../jobs/context.ts';

export interface RunContext {
  /** Of the same command: environment, project, agent that calls. */
  readonly jobs: JobContext;
  readonly place: RunsPlace;
  /** Who calls, as ownership knows it (R6). */
  readonly caller: RunCaller;
  readonly deps: RunDeps;
}

/** @throws BrokenJobError, OperationError, FileError */
export async function runContext(): Promise<RunContext> {
  return runContextOf(await jobContext());
}

/** Of whoever has the jobs' context already. */
export function runContextOf(jobs: JobContext): RunContext {
  const { clock, identity } = jobs.deps;
  return {
    jobs,
    place: runsPlace(jobs.env, homedir()),
    caller: runCaller(jobs.caller),
    deps: { clock, identity: { ...identity, uid: process.getuid?.() ?? 0 } },
  };
}
