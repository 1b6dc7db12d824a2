/** `cleanup` (R5, R6, R9): the worktrees of a run, then all else that is kept of it. */
import { RunError } from './errors.ts';
import { readWorktrees } from './files.ts';
import type { HeldRun } from './held-run.ts';
import { isStepId, type StepId } from './ids.ts';
import { mayMutate, type RunCaller } from './ownership.ts';
import type { RunDirectory, RunsPlace } from './places.ts';
import { removeHeldRun } from './remove.ts';
import type { RunDeps } from './request.ts';
import type { RunState } from './status-file.ts';
import { lockRun, ownerName } from './take.ts';
import { factsOf, knownRun, type RunView, readRun } from './view.ts';

/** What removes the worktrees of a run whose lock is held. */
export interface WorktreeRemoval {
  /** @throws RunError `worktree-dirty` that names the files, without `force`; it works where the repository has gone */
  remove(step: StepId, options: { force: boolean }): Promise<unknown>;
}

export interface CleanupDeps extends RunDeps {
  readonly worktreesOf: (directory: RunDirectory, id: string) => Promise<WorktreeRemoval>;
  /** Ends what an orphan's steps still do, and the run with them; its lock is free then. */
  readonly endOrphan: (held: HeldRun) => Promise<RunState>;
}

export interface CleanupOptions {
  readonly caller: RunCaller;
  readonly force: boolean;
  /** Everything else of the run is kept. */
  readonly worktreesOnly: boolean;
}

export interface CleanedRun {
  readonly runId: string;
  /** Its directory has gone. */
  readonly removed: boolean;
  /** Steps whose worktrees have gone with it. */
  readonly worktrees: readonly string[];
  readonly bytes: number;
}

/**
 * Damaged runs and those of another schema are removed with `force` only, and then whole.
 *
 * @throws RunError `run-is-live`, `orphan`, `owned-by-other`, `worktree-dirty`, `damaged`, `schema-version-too-old`, `-too-new`
 */
export async function cleanupRun(
  place: RunsPlace,
  directory: RunDirectory,
  options: CleanupOptions,
  deps: CleanupDeps,
): Promise<CleanedRun> {
  const view = allowed(await readRun(directory), options);
  await end(place, directory, view.id, options, deps);
  const lock = await lockRun(directory, view.id, deps);
  try {
    // As it is now that nobody else can change it.
    const run = allowed(await readRun(directory, { held: false }), options);
    const worktrees = await removeWorktrees(run, options, deps);
    if (options.worktreesOnly) return { runId: run.id, removed: false, worktrees, bytes: 0 };
    const { bytes } = await removeHeldRun(place, run, 'asked', deps);
    return { runId: run.id, removed: true, worktrees, bytes };
  } finally {
    lock.release();
  }
}

/** Steps of an orphan may still work in its worktrees. */
async function end(
  place: RunsPlace,
  directory: RunDirectory,
  id: string,
  options: CleanupOptions,
  deps: CleanupDeps,
): Promise<void> {
  const lock = await lockRun(directory, id, deps);
  try {
    const run = allowed(await readRun(directory, { held: false }), options);
    if (run.kind !== 'run' || run.state.terminal) return;
    const { manifest, state } = run;
    await deps.endOrphan({ place, directory, manifest, state, lock });
  } finally {
    lock.release();
  }
}

type SomeRun = Exclude<RunView, { kind: 'none' }>;

/** @throws what {@link cleanupRun} refuses with */
function allowed(view: RunView, { caller, force, worktreesOnly }: CleanupOptions): SomeRun {
  if (view.kind === 'none' || (view.kind !== 'run' && (!force || worktreesOnly))) return knownRun(view);
  if (view.kind === 'run') {
    const { id, manifest } = view;
    mayMutate('cleanup', { id, facts: factsOf(view), owner: ownerName(manifest) }, { ...caller, force });
  }
  return view;
}

async function removeWorktrees(
  { kind, id, directory }: SomeRun,
  { force }: CleanupOptions,
  { worktreesOf }: CleanupDeps,
): Promise<StepId[]> {
  const facts = await readWorktrees(directory);
  if (facts.kind !== 'known') {
    if (kind !== 'run' || force) return [];
    throw new RunError('damaged', `the worktrees of run ${id} are not known`, {
      hint: `multi-agent runs cleanup --force ${id} removes it all the same`,
    });
  }
  const left = facts.value.filter(({ cleanedUp }) => !cleanedUp);
  if (left.length === 0) return [];
  const worktrees = await worktreesOf(directory, id);
  const removed: StepId[] = [];
  for (const { stepId } of left) {
    if (!isStepId(stepId)) continue;
    await worktrees.remove(stepId, { force });
    removed.push(stepId);
  }
  return removed;
}
