/** The worktrees of a run, for whoever holds its lock (R5). */
import { join } from 'node:path';
import { makeStateDirectory } from '../../lib/atomic-file.ts';
import type { Clock } from '../../lib/clock.ts';
import { type FileLock, takeLock } from '../../lib/kernel-lock.ts';
import { RunError } from '../errors.ts';
import type { NewEvent } from '../events.ts';
import { readWorktrees, unlistedWorktrees, writeWorktrees } from '../files.ts';
import { type RunId, type StepId, stepBranch } from '../ids.ts';
import { openJournal } from '../journal.ts';
import { type RunDirectory, worktreeDirectory, worktreesDirectory } from '../places.ts';
import type { WorktreeRecord } from '../worktrees-file.ts';
import { writeTreeDiff } from './diff.ts';
import { type Git, gitOf } from './git.ts';
import { lookAtTree, type WorktreeLook } from './look.ts';
import { CHECKOUT_MS, checkOut, directoryInside } from './make.ts';
import { type Removed, refuseLoss, removeTree } from './remove.ts';
import { baseOf, wayTo } from './repository.ts';
import { type Tree, treeOf } from './tree.ts';

export interface WorktreesOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  /** Where it is written down what was made and removed; the run's journal for who has none open. */
  readonly journal?: { append(...events: readonly NewEvent[]): Promise<void> };
}

export interface Worktrees {
  /** As they are on the disk. */
  readonly records: readonly WorktreeRecord[];
  /**
   * The worktree of a step, which is made where there is none, at the commit that the repository of `from` is at now. Can be called
   * again after a crash at any point.
   *
   * @param from absolute
   * @returns the directory in it that corresponds to `from`
   * @throws RunError `failed`: no repository, no commit, or what git says
   */
  make(step: StepId, from: string): Promise<{ readonly cwd: string }>;
  /** The artifact of all that it has more than its base. @throws RunError `failed` */
  writeDiff(step: StepId): Promise<void>;
  look(step: StepId): Promise<WorktreeLook>;
  /**
   * Nothing happens where there is none any more.
   *
   * @param force also when files would be lost; commits never are
   * @throws RunError `worktree-dirty`
   */
  remove(step: StepId, options: { readonly force: boolean }): Promise<Removed>;
}

interface Room {
  readonly directory: RunDirectory;
  readonly runId: RunId;
  readonly git: Git;
  readonly clock: Clock;
  readonly records: WorktreeRecord[];
  readonly journal: NonNullable<WorktreesOptions['journal']>;
}

/** @throws RunError when `worktrees.json` is damaged or of another version */
export async function openWorktrees(
  directory: RunDirectory,
  runId: RunId,
  { env, clock, journal }: WorktreesOptions,
): Promise<Worktrees> {
  const room: Room = {
    directory,
    runId,
    git: gitOf(env),
    clock,
    records: [...(await knownRecords(directory))],
    journal: journal ?? (await openJournal(directory, clock)),
  };
  // One at a time: each writes the whole file, and git has locks of its own that it does not wait for.
  const inTurn = oneByOne();
  return {
    records: room.records,
    make: (step, from) => inTurn(() => make(room, step, from)),
    async writeDiff(step) {
      await writeTreeDiff(room.git, directory, step, await found(room, step));
    },
    async look(step) {
      return lookAtTree(room.git, directory, step, await found(room, step));
    },
    remove: (step, { force }) => inTurn(() => remove(room, step, force)),
  };
}

async function make(room: Room, step: StepId, from: string): Promise<{ cwd: string }> {
  const record = recordOf(room, step) ?? (await announce(room, step, from));
  if (record.cleanedUp) throw new RunError('failed', `the worktree of step ${step} was cleaned up`);
  const path = worktreeDirectory(room.directory, step);
  const lock = await takeMaking(room);
  try {
    const tree = await treeOf(room.git, room, step, record);
    if (record.made && tree.stands === 'other')
      throw new RunError('failed', `${path} was replaced by something that is no directory`);
    if (!record.made || tree.stands === 'nothing') {
      await checkOut(room.git, room.runId, step, tree, lock.fd);
      await save(room, { ...record, made: true });
      await tell(room, step, path, false);
    }
  } finally {
    lock.release();
  }
  return { cwd: await directoryInside(path, await wayTo(record.repoRoot, from)) };
}

/** Written down before there is anything of it (R5): what is there already without that is somebody's work. */
async function announce(room: Room, step: StepId, from: string): Promise<WorktreeRecord> {
  if (unlistedWorktrees(room.directory, room.records).includes(step))
    throw new RunError(
      'failed',
      `${worktreeDirectory(room.directory, step)} is a worktree that its list does not name`,
    );
  const record = {
    stepId: step,
    worktreePath: worktreeDirectory(room.directory, step),
    branchName: stepBranch(room.runId, step),
    ...(await baseOf(room.git, from)),
    made: false,
    cleanedUp: false,
  };
  await save(room, record);
  return record;
}

async function remove(room: Room, step: StepId, force: boolean): Promise<Removed> {
  const record = recordOf(room, step);
  if (record === undefined || record.cleanedUp) return { keptBranches: [] };
  const lock = await takeMaking(room);
  let removed: Removed;
  try {
    const tree = await treeOf(room.git, room, step, record);
    if (!force && record.made) refuseLoss(step, tree, await lookAtTree(room.git, room.directory, step, tree));
    removed = await removeTree(room.git, step, tree);
  } finally {
    lock.release();
  }
  await save(room, { ...record, cleanedUp: true });
  await tell(room, step, record.worktreePath, true);
  return removed;
}

/**
 * A git that an earlier owner has started may still be at it, though that owner is dead: it holds this lock as long as it lives.
 *
 * @throws LockTakenError
 */
async function takeMaking({ directory, clock }: Room): Promise<FileLock> {
  const worktrees = worktreesDirectory(directory);
  await makeStateDirectory(worktrees);
  return takeLock(join(worktrees, '.lock'), { waitMs: CHECKOUT_MS, clock });
}

function recordOf({ records }: Room, step: StepId): WorktreeRecord | undefined {
  return records.find((record) => record.stepId === step);
}

function found(room: Room, step: StepId): Promise<Tree> {
  const record = recordOf(room, step);
  if (record === undefined) throw new RunError('not-found', `step ${step} has no worktree`);
  return treeOf(room.git, room, step, record);
}

async function save({ directory, records }: Room, record: WorktreeRecord): Promise<void> {
  const others = records.filter(({ stepId }) => stepId !== record.stepId);
  await writeWorktrees(directory, [...others, record]);
  records.splice(0, records.length, ...others, record);
}

function tell({ journal }: Room, step: StepId, path: string, cleanedUp: boolean): Promise<void> {
  return journal.append({ type: 'worktree', step, path, cleanedUp });
}

async function knownRecords(directory: RunDirectory): Promise<readonly WorktreeRecord[]> {
  const facts = await readWorktrees(directory);
  switch (facts.kind) {
    case 'known':
      return facts.value;
    case 'none':
      return [];
    case 'damaged':
      throw new RunError('damaged', `the worktrees of ${directory} are not known: ${facts.reason}`);
    case 'too-old':
    case 'too-new':
      throw new RunError(`schema-version-${facts.kind}`, `${directory} was written by another version`, {
        details: { schemaVersion: facts.schemaVersion },
      });
  }
}

function oneByOne(): <T>(act: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (act) => {
    const next = last.then(act, act);
    last = next.catch(() => undefined);
    return next;
  };
}
