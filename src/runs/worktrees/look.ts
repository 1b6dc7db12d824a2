/** What would be lost with a worktree (R5). */
import { safeForTerminal } from '../../lib/redact.ts';
import type { StepId } from '../ids.ts';
import type { RunDirectory } from '../places.ts';
import { hasWholeDiff } from './diff.ts';
import { type Git, succeed } from './git.ts';
import { commitOf } from './repository.ts';
import { inTree, type Tree } from './tree.ts';

/** Files, and commits, that are named; the rest is counted. */
const MOST_NAMED = 50;
/** Some 100,000 paths; where there are more, so many are counted. */
const NAMES_BYTES = 16 * 1_024 * 1_024;

export interface Named {
  readonly first: readonly string[];
  /** How many more there are. */
  readonly more: number;
}

export interface WorktreeLook {
  readonly exists: boolean;
  readonly repositoryGone: boolean;
  /** Changed, staged or new and not ignored, relative to its top. */
  readonly dirtyFiles: Named;
  /** On its branch or its `HEAD`, and on no other branch, here or of a remote, and no tag: abbreviated id and subject. */
  readonly unpushedCommits: Named;
  /** Why neither could be told, and there is no diff of it either that has all. */
  readonly unknown: string | undefined;
}

export async function lookAtTree(
  git: Git,
  run: RunDirectory,
  step: StepId,
  tree: Tree,
): Promise<WorktreeLook> {
  const exists = tree.stands === 'directory';
  const known = tree.gitDirectory !== undefined;
  return {
    exists,
    repositoryGone: tree.common === undefined && tree.trouble === undefined,
    dirtyFiles: exists && known ? await dirtyFiles(git, tree) : NONE,
    unpushedCommits: await unpushedCommits(git, tree),
    unknown: exists && !known && (await mayLose(tree, run, step)) ? reasonOf(tree) : undefined,
  };
}

const NONE: Named = { first: [], more: 0 };

/** A diff has all that there was when the step ended; where the repository is still there, git may yet tell what came later. */
async function mayLose({ trouble }: Tree, run: RunDirectory, step: StepId): Promise<boolean> {
  return trouble !== undefined || !(await hasWholeDiff(run, step));
}

function reasonOf({ common, trouble, record }: Tree): string {
  if (trouble !== undefined) return `git cannot look into ${record.repoRoot}: ${trouble}`;
  return common === undefined
    ? `its repository ${record.repoRoot} has gone`
    : `${record.repoRoot} knows no such worktree any more`;
}

async function dirtyFiles(git: Git, { gitDirectory = '', path }: Tree): Promise<Named> {
  const words = ['status', '--porcelain=v1', '-z', '--no-renames', '--untracked-files=normal'];
  const { stdout, cut, code, complaint } = await git(
    [...inTree(gitDirectory, path), ...words, '--ignore-submodules=none'],
    { cwd: path, maxBytes: NAMES_BYTES },
  );
  // What git cannot look through may hold anything.
  if (code !== 0 && !cut) return { first: [`(git cannot tell: ${complaint})`], more: 0 };
  const lines = stdout.toString('utf8').split('\0');
  // The last one is empty, or cut.
  lines.pop();
  return named(lines.map((line) => safeForTerminal(line.slice(3))));
}

async function unpushedCommits(git: Git, { common, gitDirectory, record }: Tree): Promise<Named> {
  if (common === undefined) return NONE;
  const at = gitDirectory ?? common;
  const branch = `refs/heads/${record.branchName}`;
  const candidates = await Promise.all([
    commitOf(git, at, branch),
    gitDirectory === undefined ? undefined : commitOf(git, gitDirectory, 'HEAD'),
  ]);
  const tips = candidates.filter((commit) => commit !== undefined);
  if (tips.length === 0) return NONE;
  const range = [...tips, ...(await elsewhere(git, at, record))];
  const log = ['--git-dir', at, 'log', '-z', '--no-show-signature', '--no-color', '--no-notes'];
  const words = [...log, `--max-count=${MOST_NAMED + 1}`, '--format=%h %s', ...range, '--'];
  const doing = `look at the commits of ${record.branchName}`;
  const lines = (await succeed(git, doing, words, { cwd: at })).toString('utf8').split('\0').filter(Boolean);
  const first = lines.slice(0, MOST_NAMED).map((line) => safeForTerminal(line.slice(0, 200)));
  if (lines.length <= MOST_NAMED) return { first, more: 0 };
  const count = ['--git-dir', at, 'rev-list', '--count', ...range, '--'];
  const all = Number((await succeed(git, doing, count, { cwd: at })).toString('utf8'));
  return { first, more: all - first.length };
}

/** As words for git: all that is not only its own. Its base is not, though no branch may have it. */
export async function elsewhere(
  git: Git,
  at: string,
  { branchName, baseCommit }: Tree['record'],
  { alsoItsBranch = false } = {},
): Promise<string[]> {
  const base = await commitOf(git, at, baseCommit);
  const others = [...(alsoItsBranch ? [] : [`--exclude=${branchName}`]), '--branches', '--remotes', '--tags'];
  return ['--not', ...(base === undefined ? [] : [base]), ...others];
}

function named(all: readonly string[]): Named {
  return { first: all.slice(0, MOST_NAMED), more: Math.max(0, all.length - MOST_NAMED) };
}
