/**
 * Making a worktree (R5), so that it can be begun again after a crash between any two steps, and after a git that was killed half
 * way. As long as a record does not say `made`, no agent was ever in it: what lies there is thrown away and made anew.
 */
import { mkdir, realpath, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { openDirectory } from '../../lib/directory-handle.ts';
import { hasCode } from '../../lib/errors.ts';
import { FileError } from '../../lib/file-error.ts';
import { RunError } from '../errors.ts';
import type { RunId, StepId } from '../ids.ts';
import { deleteChild, ifThere } from './delete.ts';
import { removeBranchLock, removeEntries } from './entries.ts';
import { type Git, succeed } from './git.ts';
import { commitOf } from './repository.ts';
import type { Tree } from './tree.ts';

/** A large tree, of which filters fetch parts from elsewhere. */
export const CHECKOUT_MS = 900_000;

/** @param hold the open lock that says that git is at it */
export async function checkOut(
  git: Git,
  runId: RunId,
  step: StepId,
  tree: Tree,
  hold: number,
): Promise<void> {
  const { record, path, common, trouble } = tree;
  if (trouble !== undefined)
    throw new RunError(
      'failed',
      `step ${step} can have no worktree: git cannot look into ${record.repoRoot}: ${trouble}`,
    );
  if (common === undefined)
    throw new RunError('failed', `step ${step} can have no worktree: ${record.repoRoot} has gone`);
  await discard(tree, step);
  removeBranchLock(common, record.branchName);
  const what = await startingPoint(git, common, tree);
  const words = ['worktree', 'add', '--quiet', '--lock', '--reason', runId, ...what];
  await succeed(git, `make the worktree of step ${step} at ${path}`, words, {
    cwd: record.repoRoot,
    milliseconds: CHECKOUT_MS,
    hold,
  });
}

/** The branch of a worktree whose directory somebody has removed keeps what was committed in it. */
async function startingPoint(git: Git, common: string, { record, path }: Tree): Promise<string[]> {
  const { branchName, baseCommit, made } = record;
  const there = await commitOf(git, common, `refs/heads/${branchName}`);
  if (there === undefined) return ['-b', branchName, path, baseCommit];
  if (made || there === baseCommit) return [path, branchName];
  throw new RunError('failed', `there is a branch ${branchName} already, at another commit`, {
    hint: 'rename or delete it',
  });
}

async function discard({ path, common, entries }: Tree, step: StepId): Promise<void> {
  await deleteTree(path, step);
  if (common !== undefined) await removeEntries(common, entries);
}

/** The directory of a worktree, or whatever stands at its place. */
export async function deleteTree(path: string, step: StepId): Promise<void> {
  const parent = ifThere(() => openDirectory(join(path, '..')));
  if (parent === undefined) return;
  try {
    await deleteChild(parent, step);
  } finally {
    parent.close();
  }
}

/**
 * The directory in a worktree that corresponds to one of the repository; made where the commit has none.
 *
 * @throws RunError `failed` when a link of the commit leads out of the worktree
 */
export async function directoryInside(path: string, way: string): Promise<string> {
  const wanted = join(path, way);
  try {
    await mkdir(wanted, { recursive: true });
    const [top, real] = await Promise.all([realpath(path), realpath(wanted)]);
    const inside = relative(top, real);
    if (inside.split('/')[0] !== '..' && (await stat(real)).isDirectory()) return wanted;
  } catch (error) {
    if (!hasCode(error, 'EEXIST', 'ENOTDIR')) throw new FileError('make directory', wanted, error);
  }
  throw new RunError('failed', `${way} is no directory in the worktree ${path}`);
}
