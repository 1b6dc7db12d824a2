/** A worktree as it is found: its directory, its repository, and what that knows of it. Nothing is believed that it says of itself. */
import { lstat, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hasCode } from '../../lib/errors.ts';
import { FileError } from '../../lib/file-error.ts';
import { type RunId, type StepId, stepBranch } from '../ids.ts';
import { type RunDirectory, worktreeDirectory } from '../places.ts';
import type { WorktreeRecord } from '../worktrees-file.ts';
import { type Entry, entriesFor } from './entries.ts';
import type { Git } from './git.ts';
import { commonDirectory } from './repository.ts';

export interface Tree {
  /** Its path and its branch are the run's and the step's, whatever the file says: nothing else is changed or removed. */
  readonly record: WorktreeRecord;
  readonly path: string;
  readonly stands: 'directory' | 'other' | 'nothing';
  /** Undefined where the repository has gone, or cannot be looked into. */
  readonly common: string | undefined;
  /** Why it cannot. */
  readonly trouble: string | undefined;
  /** All that the repository has of it, whole or not. */
  readonly entries: readonly Entry[];
  /** Its own git directory. Undefined where that is missing or not whole. */
  readonly gitDirectory: string | undefined;
}

export async function treeOf(
  git: Git,
  { directory, runId }: { readonly directory: RunDirectory; readonly runId: RunId },
  step: StepId,
  read: WorktreeRecord,
): Promise<Tree> {
  const path = worktreeDirectory(directory, step);
  const record = { ...read, worktreePath: path, branchName: stepBranch(runId, step) };
  const { common, trouble } = await commonDirectory(git, record.repoRoot);
  const entries = common === undefined ? [] : entriesFor(common, await spellings(path, step), runId);
  const [whole, ...others] = entries.filter((entry) => entry.complete);
  // Two that claim one place: none is to be trusted.
  const gitDirectory = others.length === 0 ? whole?.gitDirectory : undefined;
  return { record, path, stands: await standing(path), common, trouble, entries, gitDirectory };
}

/** Words that make git take these directories, and not those that the tree's own `.git` names. */
export function inTree(gitDirectory: string, path: string): string[] {
  return ['--git-dir', gitDirectory, '--work-tree', path];
}

/** Git writes down where a worktree really lies. */
async function spellings(path: string, step: StepId): Promise<string[]> {
  try {
    return [path, join(await realpath(dirname(path)), step)];
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [path];
    throw new FileError('look at', dirname(path), error);
  }
}

async function standing(path: string): Promise<Tree['stands']> {
  try {
    return (await lstat(path)).isDirectory() ? 'directory' : 'other';
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return 'nothing';
    throw new FileError('look at', path, error);
  }
}
