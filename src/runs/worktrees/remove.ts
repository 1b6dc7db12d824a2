/** Removing a worktree (R5): never what is not kept elsewhere, unless it is asked for by force; and commits never. */
import { RunError } from '../errors.ts';
import type { StepId } from '../ids.ts';
import { removeEntries } from './entries.ts';
import { type Git, succeed } from './git.ts';
import { elsewhere, type Named, type WorktreeLook } from './look.ts';
import { deleteTree } from './make.ts';
import { commitOf } from './repository.ts';
import type { Tree } from './tree.ts';

export interface Removed {
  /** Stay in the repository, for they have commits that nothing else has. */
  readonly keptBranches: readonly string[];
}

/** @throws RunError `worktree-dirty` naming what would be lost */
export function refuseLoss(step: StepId, { path }: Tree, look: WorktreeLook): void {
  const { dirtyFiles, unpushedCommits, unknown } = look;
  const losses = [
    unknown === undefined ? '' : `it cannot be told what is in it, for ${unknown}`,
    sentence('changed files', dirtyFiles),
    sentence('commits that are nowhere else', unpushedCommits),
  ].filter((loss) => loss !== '');
  if (losses.length === 0) return;
  throw new RunError('worktree-dirty', `the worktree of step ${step} is not removed: ${losses.join('; ')}`, {
    hint: `look into ${path}; --force removes it, and leaves the commits on their branch`,
    details: { step, worktreePath: path, dirtyFiles, unpushedCommits, unknown: unknown ?? null },
  });
}

/** So many are in the message; `details` have more. */
const MOST_SAID = 10;

function sentence(what: string, { first, more }: Named): string {
  if (first.length === 0) return '';
  const left = first.length - MOST_SAID + more;
  return `${what}: ${first.slice(0, MOST_SAID).join(', ')}${left > 0 ? ` and ${left} more` : ''}`;
}

/** Can be done again after a crash at any point. @throws RunError, FileError */
export async function removeTree(git: Git, step: StepId, tree: Tree): Promise<Removed> {
  const rescued = await rescueDetached(git, tree);
  await deleteTree(tree.path, step);
  if (tree.common === undefined) return { keptBranches: [] };
  // With its entry goes the lock that named this run.
  await removeEntries(tree.common, tree.entries);
  const branch = await dropBranch(git, tree.common, tree);
  return { keptBranches: [branch, rescued].filter((name) => name !== undefined) };
}

/** Commits that only its `HEAD` has, as in the middle of a rebase, get a branch. */
async function rescueDetached(git: Git, { gitDirectory, record }: Tree): Promise<string | undefined> {
  if (gitDirectory === undefined) return undefined;
  const head = await commitOf(git, gitDirectory, 'HEAD');
  if (head === undefined) return undefined;
  const range = [head, ...(await elsewhere(git, gitDirectory, record, { alsoItsBranch: true }))];
  if (!(await hasCommits(git, gitDirectory, range))) return undefined;
  const name = `${record.branchName}.detached`;
  const words = ['--git-dir', gitDirectory, 'update-ref', `refs/heads/${name}`, head];
  await succeed(git, `keep the commits of ${record.worktreePath}`, words, { cwd: gitDirectory });
  return name;
}

/** Its name, where it stays. */
async function dropBranch(git: Git, common: string, { record }: Tree): Promise<string | undefined> {
  const { branchName } = record;
  const ref = `refs/heads/${branchName}`;
  const tip = await commitOf(git, common, ref);
  if (tip === undefined) return undefined;
  const range = [tip, ...(await elsewhere(git, common, record))];
  if (await hasCommits(git, common, range)) return branchName;
  if (await isCheckedOut(git, common, ref)) return branchName;
  // Only as long as it is still there.
  const words = ['--git-dir', common, 'update-ref', '-d', ref, tip];
  await succeed(git, `delete the branch ${branchName}`, words, { cwd: common });
  return undefined;
}

async function hasCommits(git: Git, at: string, range: readonly string[]): Promise<boolean> {
  const words = ['--git-dir', at, 'rev-list', '--max-count=1', ...range, '--'];
  return (await succeed(git, 'look for commits', words, { cwd: at })).length > 0;
}

async function isCheckedOut(git: Git, common: string, ref: string): Promise<boolean> {
  const words = ['--git-dir', common, 'for-each-ref', '--format=%(worktreepath)', ref];
  const where = await succeed(git, `look at ${ref}`, words, { cwd: common });
  return where.toString('utf8').trim() !== '';
}
