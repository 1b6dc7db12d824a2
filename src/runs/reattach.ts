/** All that is kept of a run, for whoever has nothing of it but its id (R8). Read without the lock; changes nothing. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../lib/errors.ts';
import { FileError } from '../lib/file-error.ts';
import { RunError } from './errors.ts';
import { readWorktrees } from './files.ts';
import type { Manifest } from './manifest.ts';
import { artifactsDirectory, type RunDirectory } from './places.ts';
import type { RunState } from './status-file.ts';
import { type KnownRun, readKnownRun } from './view.ts';
import type { WorktreeRecord } from './worktrees-file.ts';

/** Two for each step of the largest graph, and as many that are none of ours. */
const MOST_ARTIFACTS = 4_096;

export interface Snapshot {
  readonly run: KnownRun;
  readonly manifest: Manifest;
  readonly status: RunState;
  readonly worktrees: readonly WorktreeRecord[];
  /** Absolute paths, in order. */
  readonly mirroredArtifacts: readonly string[];
}

/** @throws RunError `schema-version-too-old`, `schema-version-too-new`, `damaged`, `not-found`; FileError */
export async function reattachRun(directory: RunDirectory): Promise<Snapshot> {
  const run = await readKnownRun(directory);
  const worktrees = await readWorktrees(directory);
  switch (worktrees.kind) {
    case 'known': {
      const mirroredArtifacts = await artifactsOf(directory);
      const { manifest, state: status } = run;
      return { run, manifest, status, worktrees: worktrees.value, mirroredArtifacts };
    }
    case 'none':
      throw new RunError('damaged', `run ${run.id} has no list of worktrees`);
    case 'damaged':
      throw new RunError('damaged', `run ${run.id} is damaged: ${worktrees.reason}`, {
        details: { runDir: directory },
      });
    case 'too-old':
    case 'too-new':
      throw new RunError(
        `schema-version-${worktrees.kind}`,
        `the worktrees of run ${run.id} have another schema`,
        {
          details: { schemaVersion: worktrees.schemaVersion, runDir: directory },
        },
      );
  }
}

async function artifactsOf(run: RunDirectory): Promise<string[]> {
  const directory = artifactsDirectory(run);
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.'));
    return files
      .slice(0, MOST_ARTIFACTS)
      .map(({ name }) => join(directory, name))
      .sort();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw new FileError('read directory', directory, error);
  }
}
