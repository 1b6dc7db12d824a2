/** What killed starts and removals leave among the runs (R9): half a run, half a deletion, an id that nobody uses. */
import { type Dirent, readdirSync } from 'node:fs';
import { addTo, type Bounded } from '../lib/bounded-list.ts';
import { entriesOf, removeEmptyChild, statChild } from '../lib/directory-entries.ts';
import { type DirectoryHandle, openChildDirectory, openDirectory } from '../lib/directory-handle.ts';
import { hasCode, messageOf, PiSandboxError } from '../lib/errors.ts';
import { type FileLock, tryLock } from '../lib/kernel-lock.ts';
import { BUILDING_PREFIX } from './create.ts';
import { isRunId } from './ids.ts';
import { type RunsPlace, runLock } from './places.ts';
import { GONE_PREFIX, type RemoveRunDeps, removeLeftover } from './remove.ts';

/** A start takes moments; what is older is a dead one's. */
const LEFTOVER_MS = 3_600_000;

export interface LeftoverOptions {
  readonly dryRun: boolean;
  readonly failed: Bounded<{ run: string; reason: string }>;
}

/** How many were cleared, or would be. @throws FileError where the directory of runs cannot be read */
export async function sweepLeftovers(
  place: RunsPlace,
  deps: RemoveRunDeps,
  { dryRun, failed }: LeftoverOptions,
): Promise<number> {
  let root: DirectoryHandle;
  try {
    root = openDirectory(place.root);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 0;
    throw error;
  }
  let count = 0;
  try {
    for (const { name } of [...entriesOf(root)].filter(mayBeLeft)) {
      try {
        if (await clear(place, root, name, deps, dryRun)) count++;
      } catch (error) {
        if (!(error instanceof PiSandboxError)) throw error;
        addTo(failed, { run: `${place.root}/${name}`, reason: messageOf(error) });
      }
    }
    return count;
  } finally {
    root.close();
  }
}

function mayBeLeft(entry: Dirent): boolean {
  const { name } = entry;
  return (
    entry.isDirectory() && (isRunId(name) || name.startsWith(BUILDING_PREFIX) || name.startsWith(GONE_PREFIX))
  );
}

async function clear(
  place: RunsPlace,
  root: DirectoryHandle,
  name: string,
  deps: RemoveRunDeps,
  dryRun: boolean,
): Promise<boolean> {
  const changed = statChild(root, name)?.mtimeMs;
  const isGone = name.startsWith(GONE_PREFIX);
  if (changed === undefined || (!isGone && deps.clock.now().getTime() - changed < LEFTOVER_MS)) return false;
  if (isRunId(name)) return isEmpty(root, name) && (dryRun || removeEmptyChild(root, name));
  let lock: FileLock | undefined;
  try {
    if (hasLock(root, name)) {
      lock = tryLock(runLock(`${place.root}/${name}`));
      if (lock === undefined) return false;
    }
    if (!dryRun) await removeLeftover(place, name, deps);
    return true;
  } finally {
    lock?.release();
  }
}

/** A claim on an id that a killed start has left. */
function isEmpty(root: DirectoryHandle, name: string): boolean {
  return readdirSync(root.at(name)).length === 0;
}

/** A start's lock may not be there yet, a removal's no more. */
function hasLock(root: DirectoryHandle, name: string): boolean {
  const directory = openChildDirectory(root, name);
  try {
    return statChild(directory, 'lock') !== undefined;
  } finally {
    directory.close();
  }
}
