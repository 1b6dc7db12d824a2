/**
 * Where everything of the runs lies (R1). Paths only; nothing is looked at on disk. In the directory of runs a name that
 * begins with a dot is never a run's.
 */
import { createHash } from 'node:crypto';
import { isAbsolute, join } from 'node:path';
import { type JobsPlace, jobsPlace } from '../jobs/index.ts';
import type { RunId, StepId } from './ids.ts';

/** Names the directory of runs itself. */
export const STATE_DIR_VARIABLE = 'PI_MULTIAGENT_STATE_DIR';

/** The directories of one environment. */
export interface RunsPlace {
  /** Holds a directory for each run of every project. */
  readonly root: string;
  /** Steps are jobs. */
  readonly jobs: JobsPlace;
}

/** A run's directory, absolute. Made by {@link runDirectory} only. */
export type RunDirectory = string;

/** Relative values count as none, as with `XDG_STATE_HOME`. */
export function runsPlace(env: NodeJS.ProcessEnv, home: string): RunsPlace {
  const { [STATE_DIR_VARIABLE]: given, XDG_STATE_HOME: state } = env;
  const stateHome = state !== undefined && isAbsolute(state) ? state : join(home, '.local', 'state');
  const root = given !== undefined && isAbsolute(given) ? given : join(stateHome, 'pi-multiagent', 'runs');
  return { root, jobs: jobsPlace(env, home) };
}

export function runDirectory({ root }: RunsPlace, id: RunId): RunDirectory {
  return join(root, id);
}

/** Held by the owner for as long as the run is its (R6). */
export function runLock(run: RunDirectory): string {
  return join(run, 'lock');
}

export function artifactsDirectory(run: RunDirectory): string {
  return join(run, 'artifacts');
}

/** The result of a step as its owner has mirrored it. */
export function outputArtifact(run: RunDirectory, step: StepId): string {
  return join(artifactsDirectory(run), `${step}.output.md`);
}

/** What a step's worktree had more than its base commit (R5). */
export function diffArtifact(run: RunDirectory, step: StepId): string {
  return join(artifactsDirectory(run), `${step}.diff`);
}

/** Holds one for each step that has a worktree, and what git needs meanwhile, with a dot before its name. */
export function worktreesDirectory(run: RunDirectory): string {
  return join(run, 'worktrees');
}

/** A step's worktree of a git repository (R5). */
export function worktreeDirectory(run: RunDirectory, step: StepId): string {
  return join(worktreesDirectory(run), step);
}

/** Held by the one that sweeps (R9). */
export function sweepLock({ root }: RunsPlace): string {
  return join(root, '.sweep.lock');
}

/** Every run that was removed, and why (rule 3). */
export function runDeletionLog({ root }: RunsPlace): string {
  return join(root, '.deletions.log');
}

/** Held while a line is added to that log. */
export function runDeletionLock({ root }: RunsPlace): string {
  return join(root, '.deletions.lock');
}

/** One file for each schedule (R10). */
export function schedulesDirectory({ root }: RunsPlace): string {
  return join(root, '.schedules');
}

/** All sockets of owners, 0700. */
export function runSocketDirectory({ root }: RunsPlace): string {
  return join(root, '.sockets');
}

/** An owner's socket in that directory: short, however long the run's own path is. */
export function runSocketName(run: RunDirectory): string {
  return `${createHash('sha256').update(run).digest('hex').slice(0, 16)}.sock`;
}
