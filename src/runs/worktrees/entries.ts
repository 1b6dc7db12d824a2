/**
 * What a repository itself knows of its worktrees: a directory for each below `worktrees` of its git directory. They are read and
 * removed here and not by git, which follows whatever link stands at a worktree's place, and which neither lists nor removes what
 * a killed `git worktree add` has left (R5).
 */
import { closeSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { entriesOf, removeEmptyChild, unlinkChild } from '../../lib/directory-entries.ts';
import {
  type DirectoryHandle,
  openChildDirectory,
  openChildFile,
  openDirectory,
} from '../../lib/directory-handle.ts';
import { hasCode, PiSandboxError } from '../../lib/errors.ts';
import { isRunId, type RunId } from '../ids.ts';
import { deleteChild, ifThere } from './delete.ts';

/** A repository with more of them is looked at so far. */
const MOST_ENTRIES = 10_000;
const FACT_BYTES = 8 * 1_024;

/** A worktree as its repository has it. */
export interface Entry {
  readonly name: string;
  /** Its git directory, with its own `HEAD` and index. */
  readonly gitDirectory: string;
  /** There is nothing of it but a beginning. */
  readonly complete: boolean;
}

/**
 * Entries of a worktree, and what a killed git has left of any of the run's.
 *
 * @param commonDirectory of the repository
 * @param paths of the worktree, as it may be spelled
 */
export function entriesFor(commonDirectory: string, paths: readonly string[], run: RunId): Entry[] {
  return inEntries(commonDirectory, (all) => {
    const found: Entry[] = [];
    let left = MOST_ENTRIES;
    for (const { name } of entriesOf(all)) {
      if (left-- === 0) break;
      const entry = ifThere(() => openChildDirectory(all, name));
      if (entry === undefined) continue;
      try {
        const leadsTo = fact(entry, 'gitdir');
        const isOurs =
          leadsTo === undefined || leadsTo === ''
            ? fact(entry, 'locked') === run
            : paths.some((path) => leadsTo === join(path, '.git'));
        const complete = leadsTo !== undefined && fact(entry, 'HEAD') !== undefined;
        if (isOurs) found.push({ name, gitDirectory: join(commonDirectory, 'worktrees', name), complete });
      } finally {
        entry.close();
      }
    }
    return found;
  });
}

/** @throws RunError when something of one cannot be removed */
export async function removeEntries(commonDirectory: string, entries: readonly Entry[]): Promise<void> {
  if (entries.length === 0) return;
  const common = openDirectory(commonDirectory);
  try {
    const all = openChildDirectory(common, 'worktrees');
    try {
      for (const { name } of entries) await deleteChild(all, name);
    } finally {
      all.close();
    }
    // As git does it after the last one.
    removeEmptyChild(common, 'worktrees');
  } finally {
    common.close();
  }
}

/** A killed git leaves the lock of the branch that it was making, on which every later one would fail. */
export function removeBranchLock(commonDirectory: string, branch: string): void {
  const parts = ['refs', 'heads', ...branch.split('/')];
  const name = parts.pop();
  const [, runId = ''] = branch.split('/');
  if (name === undefined || !isRunId(runId)) return;
  let directory = ifThere(() => openDirectory(commonDirectory));
  for (const part of parts) {
    const parent = directory;
    if (parent === undefined) return;
    directory = ifThere(() => openChildDirectory(parent, part));
    parent.close();
  }
  if (directory === undefined) return;
  try {
    const last = directory;
    ifThere(() => unlinkChild(last, `${name}.lock`));
  } finally {
    directory.close();
  }
}

function inEntries(commonDirectory: string, look: (all: DirectoryHandle) => Entry[]): Entry[] {
  const common = ifThere(() => openDirectory(commonDirectory));
  if (common === undefined) return [];
  try {
    const all = ifThere(() => openChildDirectory(common, 'worktrees'));
    if (all === undefined) return [];
    try {
      return look(all);
    } finally {
      all.close();
    }
  } finally {
    common.close();
  }
}

/** A file of one line; undefined where there is none that can be read. */
function fact(entry: DirectoryHandle, name: string): string | undefined {
  let fd: number | undefined;
  try {
    ({ fd } = openChildFile(entry, name));
    const bytes = Buffer.alloc(FACT_BYTES);
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, FACT_BYTES, 0)).replace(/\n$/, '');
  } catch (error) {
    if (error instanceof PiSandboxError || hasCode(error, 'EIO', 'EISDIR')) return undefined;
    throw error;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
