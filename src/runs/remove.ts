/**
 * Deleting a run's directory (R6, R9): under its lock it is moved to a name that no run has, then deleted through its open
 * directory, its manifest last.
 */
import { rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { renameChild, statChild, syncDirectory } from '../lib/directory-entries.ts';
import { type DirectoryHandle, openDirectory } from '../lib/directory-handle.ts';
import { FileError } from '../lib/file-error.ts';
import { randomId } from '../lib/ids.ts';
import { type Deletion, deleteGone } from '../work/index.ts';
import { logRunDeletion, type RunRemovalReason } from './deletion-log.ts';
import { RunError } from './errors.ts';
import { MANIFEST_FILE } from './manifest.ts';
import { type RunDirectory, type RunsPlace, runSocketDirectory, runSocketName } from './places.ts';
import type { RunDeps } from './request.ts';
import type { RunView } from './view.ts';

export type RemoveRunDeps = Pick<RunDeps, 'clock' | 'random'>;

/** Runs that are being deleted. */
export const GONE_PREFIX = '.gone-';

/**
 * Deletes it whole; the caller holds its lock.
 *
 * @throws FileError; RunError `failed` when a part of it stays, which the next sweep goes on with
 */
export async function removeHeldRun(
  place: RunsPlace,
  run: Exclude<RunView, { kind: 'none' }>,
  why: RunRemovalReason,
  deps: RemoveRunDeps,
): Promise<Deletion> {
  const { directory } = run;
  const known = run.kind === 'run' ? run : undefined;
  const facts = { status: known?.state.status ?? null, project: known?.manifest.realProject ?? null };
  await logRunDeletion(place, { event: 'removing', run: directory, why, ...facts }, deps);
  removeSocket(place, directory);
  return inDirectory(dirname(directory), async (root) => {
    const gone = `${GONE_PREFIX}${randomId(16, deps.random)}`;
    renameChild(root, basename(directory), root, gone);
    syncDirectory(root);
    return deleteLogged(place, root, gone, directory, deps);
  });
}

/** What a killed start or removal has left; the caller holds its lock, if it has one. */
export async function removeLeftover(place: RunsPlace, name: string, deps: RemoveRunDeps): Promise<void> {
  const path = join(place.root, name);
  const facts = { status: null, project: null };
  await logRunDeletion(place, { event: 'removing', run: path, why: 'leftover', ...facts }, deps);
  await inDirectory(place.root, (root) => deleteLogged(place, root, name, path, deps));
}

async function inDirectory<T>(path: string, work: (root: DirectoryHandle) => Promise<T>): Promise<T> {
  const root = openDirectory(path);
  try {
    return await work(root);
  } finally {
    root.close();
  }
}

async function deleteLogged(
  place: RunsPlace,
  root: DirectoryHandle,
  name: string,
  directory: RunDirectory,
  deps: RemoveRunDeps,
): Promise<Deletion> {
  const deletion = await deleteGone(root, name, MANIFEST_FILE);
  const { bytes, entries, obstacle } = deletion;
  if (obstacle === undefined && statChild(root, name) === undefined) {
    await logRunDeletion(place, { event: 'removed', run: directory, bytes, entries }, deps);
    return deletion;
  }
  const reason = obstacle === undefined ? 'it is not empty' : `${obstacle.path}: ${obstacle.reason}`;
  await logRunDeletion(place, { event: 'kept', run: directory, reason }, deps);
  throw new RunError('failed', `a part of ${directory} stays: ${reason}`, {
    hint: 'multi-agent runs sweep goes on with it',
  });
}

/** Nobody listens on it while its lock is held by who removes it. */
export function removeSocket(place: RunsPlace, directory: RunDirectory): void {
  const path = join(runSocketDirectory(place), runSocketName(directory));
  try {
    rmSync(path, { force: true });
  } catch (error) {
    throw new FileError('remove', path, error);
  }
}
