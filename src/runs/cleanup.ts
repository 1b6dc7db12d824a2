/** `cleanup` (R5, R6, R9): the worktrees of a run, then all else that is kept of it. */
import { RunError } from './errors.ts';
import { readWorktrees, unlistedWorktrees } from './files.ts';
import { isRunId, isStepId, type StepId } from './ids.ts';
import { openJournal } from './journal.ts';
import type { OwnerDeps } from './owner/options.ts';
import { endOrphan } from './owner/orphan.ts';
import { callerText, describeOwner, mayMutate, type RunCaller } from './ownership.ts';
import type { RunDirectory, RunsPlace } from './places.ts';
import { removeHeldRun } from './remove.ts';
import { lockRun } from './take.ts';
import { factsOf, knownRun, type RunView, readRun } from './view.ts';
import { openWorktrees } from './worktrees/open.ts';

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
  /** Steps whose worktrees have gone. */
  readonly worktrees: readonly string[];
  /** Of them; they have commits that nothing else has. */
  readonly keptBranches: readonly string[];
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
  deps: OwnerDeps,
): Promise<CleanedRun> {
  const view = allowed(await readRun(directory), options);
  await end(place, directory, view.id, options, deps);
  const lock = await lockRun(directory, view.id, deps);
  try {
    // As it is now that nobody else can change it.
    const run = allowed(await readRun(directory, { held: false }), options);
    const removed = await removeWorktrees(run, options, deps);
    if (options.worktreesOnly) return { runId: run.id, removed: false, ...removed, bytes: 0 };
    const { bytes } = await removeHeldRun(place, run, 'asked', deps);
    return { runId: run.id, removed: true, ...removed, bytes };
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
  deps: OwnerDeps,
): Promise<void> {
  const lock = await lockRun(directory, id, deps);
  try {
    const run = allowed(await readRun(directory, { held: false }), options);
    if (run.kind !== 'run' || run.state.terminal) return;
    const { manifest, state } = run;
    const reason = `canceled by ${callerText(options.caller)}, to clean it up`;
    await endOrphan({ place, directory, manifest, state, lock }, deps, reason);
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
    mayMutate('cleanup', { id, facts: factsOf(view), owner: describeOwner(manifest) }, { ...caller, force });
  }
  return view;
}

interface RemovedWorktrees {
  readonly worktrees: readonly StepId[];
  readonly keptBranches: readonly string[];
}

async function removeWorktrees(
  { kind, id, directory }: SomeRun,
  { force, worktreesOnly }: CleanupOptions,
  { env, clock }: OwnerDeps,
): Promise<RemovedWorktrees> {
  const facts = await readWorktrees(directory);
  if (facts.kind !== 'known' || !isRunId(id)) {
    if (kind !== 'run' || force) return { worktrees: [], keptBranches: [] };
    throw new RunError('damaged', `the worktrees of run ${id} are not known`, {
      hint: `multi-agent runs cleanup --force ${id} removes it all the same`,
    });
  }
  if (!force && !worktreesOnly) refuseUnlisted(id, unlistedWorktrees(directory, facts.value));
  const left = facts.value
    .filter(({ cleanedUp }) => !cleanedUp)
    .map(({ stepId }) => stepId)
    .filter(isStepId);
  if (left.length === 0) return { worktrees: [], keptBranches: [] };
  const journal = await openJournal(directory, clock);
  const worktrees = await openWorktrees(directory, id, { env, clock, journal });
  const keptBranches: string[] = [];
  for (const stepId of left) {
    keptBranches.push(...(await worktrees.remove(stepId, { force })).keptBranches);
  }
  return { worktrees: left, keptBranches };
}

const MOST_NAMED = 10;

/** Nothing is known of them but that they are there. */
function refuseUnlisted(id: string, steps: readonly string[]): void {
  if (steps.length === 0) return;
  const named = steps.slice(0, MOST_NAMED).join(', ');
  const more = steps.length > MOST_NAMED ? ` and ${steps.length - MOST_NAMED} more` : '';
  throw new RunError(
    'worktree-dirty',
    `run ${id} has worktrees that its list does not name: ${named}${more}`,
    {
      hint: `multi-agent runs cleanup --force ${id} removes them with all else`,
      details: { worktrees: steps.slice(0, MOST_NAMED) },
    },
  );
}
