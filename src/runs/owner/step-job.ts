/** The job of a step: made, opened again, or found as another owner has left it (R7). */

import { lstatSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import {
  createJob,
  endJobProcesses,
  type HeldJob,
  isLive,
  type JobDirectory,
  type JobSpec,
  type JobStatus,
  jobDirectory,
  jobSpec,
  launchRunner,
  projectFolder,
  RunnerStartError,
  readJob,
  readSmall,
  reopenJob,
} from '../../jobs/index.ts';
import { readBeginning } from '../../lib/bounded-read.ts';
import { sessionLockDirectory } from '../../pi/index.ts';
import { RunError } from '../errors.ts';
import type { Step } from '../graph/graph.ts';
import type { HeldRun } from '../held-run.ts';
import { isRunId, type RunId, stepJobName } from '../ids.ts';
import type { OwnerDeps } from './options.ts';
import { firstPrompt, nextPrompt, type StepMessage } from './prompt.ts';

/** What an old pi gets before it is killed (J4). */
const OLD_PI_GRACE_MS = 5_000;

export function stepJob({ place, manifest }: HeldRun, step: Step): JobDirectory {
  return jobDirectory(
    place.jobs,
    projectFolder(manifest.project),
    stepJobName(runIdOf(manifest.runId), step.id),
  );
}

function runIdOf(text: string): RunId {
  if (isRunId(text)) return text;
  throw new RunError('damaged', `${JSON.stringify(text.slice(0, 100))} is no run's id`);
}

/** What there is of a step's job, however it came to be. */
export type FoundJob =
  | { readonly kind: 'none' }
  | { readonly kind: 'found'; readonly status: JobStatus; readonly runs: number };

/** @throws RunError for a job that is not this run's; BrokenJobError, FileError */
export async function foundJob({ manifest }: HeldRun, job: JobDirectory): Promise<FoundJob> {
  if (lstatSync(job, { throwIfNoEntry: false }) === undefined) return { kind: 'none' };
  const { record, status } = await readJob(job);
  if (record.startedByRun !== manifest.runId)
    throw new RunError('failed', `the name of its job, ${basename(job)}, is taken by a job of others`);
  const runs = Number((await readSmall(job, 'runs')) ?? '1');
  return { kind: 'found', status, runs: Number.isSafeInteger(runs) && runs > 0 ? runs : 1 };
}

/** Makes the job of a step and starts it. A runner that cannot be started leaves a job that has failed. */
export async function makeStepJob(
  held: HeldRun,
  step: Step,
  messages: readonly StepMessage[],
  deps: OwnerDeps,
): Promise<void> {
  const prompt = await firstPrompt(held.directory, step, messages);
  const job = await createJob(held.place.jobs, await specOf(held, step, prompt, deps), deps);
  await launch(job, deps);
}

/** Its next run: with its conversation where there is one, else from the beginning (R7). */
export async function reopenStepJob(
  held: HeldRun,
  step: Step,
  job: JobDirectory,
  messages: readonly StepMessage[],
  deps: OwnerDeps,
): Promise<void> {
  const { clock, env } = deps;
  // Somebody may have removed it meanwhile.
  await directoryOf(held, step, deps);
  const { record } = await readJob(job);
  const isBegun = ((await readBeginning(record.session, 1))?.size ?? 0) > 0;
  const prompt = isBegun ? nextPrompt(messages) : await firstPrompt(held.directory, step, messages);
  const again = await reopenJob(held.place.jobs, job, prompt, {
    ...deps,
    sessionLocks: sessionLockDirectory(env),
    endOldProcesses: async (directory) => {
      await endJobProcesses(directory, { clock, graceMs: OLD_PI_GRACE_MS });
    },
  });
  await launch(again, deps);
}

async function launch(job: HeldJob, { clock, env, runner }: OwnerDeps): Promise<void> {
  try {
    await launchRunner(job, { clock, env, runner });
  } catch (error) {
    // The job says so itself.
    if (!(error instanceof RunnerStartError)) throw error;
  }
}

async function specOf(held: HeldRun, step: Step, prompt: string, deps: OwnerDeps): Promise<JobSpec> {
  const { manifest, place } = held;
  const project = {
    directory: manifest.project,
    real: manifest.realProject,
    folder: projectFolder(manifest.project),
  };
  const cwd = await directoryOf(held, step, deps);
  const places = { project, agentDir: place.jobs.agentDir, shipped: deps.shippedProfiles };
  return jobSpec(places, {
    name: stepJobName(runIdOf(manifest.runId), step.id),
    asked: true,
    prompt,
    cwd,
    profile: step.profile ?? undefined,
    model: step.model ?? undefined,
    thinking: undefined,
    tools: step.tools ?? undefined,
    piArguments: [],
    timeoutSeconds: step.timeoutSeconds,
    sessionDirectory: undefined,
    parent: manifest.parentJob === null ? undefined : basename(manifest.parentJob),
    below: (profileMaxDepth) => ({
      parentJob: manifest.parentJob,
      depth: manifest.depth,
      maxDepth: Math.min(manifest.maxDepth, profileMaxDepth ?? Number.POSITIVE_INFINITY),
    }),
    runMode: 'background',
    // The Session is told of the run's end, not of every step's.
    startedBySession: null,
    startedByRun: manifest.runId,
    ask: false,
    maxCost: null,
    maxTokens: null,
  });
}

/** A worktree that it has already is that one, as its last attempt has left it (R5). */
async function directoryOf(
  { manifest }: HeldRun,
  step: Step,
  { worktrees }: Pick<OwnerDeps, 'worktrees'>,
): Promise<string> {
  const from = resolve(manifest.invocationCwd, step.cwd ?? '.');
  return step.worktree && worktrees ? (await worktrees.make(step, from)).cwd : from;
}

/** Whether a run of the job goes on. */
export function isRunning(found: FoundJob): boolean {
  return found.kind === 'found' && isLive(found.status);
}
