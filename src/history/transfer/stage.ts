/**
 * Where Sessions that arrive wait until they are whole (S15): a directory beside them, with a lock that says its maker is
 * alive. So any number may bring Sessions at once, and what a killed one has left is known by its free lock.
 */
import { entriesOf } from '../../lib/directory-entries.ts';
import {
  type DirectoryHandle,
  makeChildDirectory,
  openChildDirectory,
  openDirectory,
} from '../../lib/directory-handle.ts';
import { hasCode, OperationError } from '../../lib/errors.ts';
import { type RandomSource, randomId } from '../../lib/ids.ts';
import { type KernelLock, tryLock } from '../../lib/kernel-lock.ts';
import { type Destination, destinationWith, removeStage } from './destination.ts';

/** Passed over by every other walk, as all names of ours are. */
const PREFIX = '.pi-sandbox-arriving-';
const LOCK = 'lock';
/** Another one that tidies up can take a directory away before it is locked. */
const TRIES = 20;

/**
 * Opens it, and removes what others that were killed have left.
 *
 * @throws FileError
 */
export function openArrival(sessions: string, random?: RandomSource): Destination {
  const directory = openDirectory(sessions);
  try {
    removeLeftovers(directory);
    const { name, stage, lock } = makeStage(directory, random);
    return destinationWith(directory, { name, stage, released: () => lock.release() });
  } catch (error) {
    directory.close();
    throw error;
  }
}

function makeStage(
  directory: DirectoryHandle,
  random: RandomSource | undefined,
): { name: string; stage: DirectoryHandle; lock: KernelLock } {
  for (let tries = 0; tries < TRIES; tries++) {
    const name = `${PREFIX}${randomId(16, random)}`;
    const stage = makeChildDirectory(directory, name);
    const lock = lockOf(stage);
    if (lock !== undefined) return { name, stage, lock };
    stage.close();
  }
  throw new OperationError(`no directory in ${directory.path} stays there long enough to be used`);
}

function lockOf(stage: DirectoryHandle): KernelLock | undefined {
  try {
    return tryLock(stage.at(LOCK));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Removes what arrivals that were killed have left in a sessions directory; one that is at work keeps its own. */
export function removeLeftovers(directory: DirectoryHandle): void {
  const names = [...entriesOf(directory)].map(({ name }) => name).filter((name) => name.startsWith(PREFIX));
  for (const name of names) {
    try {
      const stage = openChildDirectory(directory, name);
      try {
        const lock = tryLock(stage.at(LOCK));
        if (lock === undefined) continue;
        removeStage(directory, name);
        lock.release();
      } finally {
        stage.close();
      }
    } catch (error) {
      // Not a directory of ours, or gone: whoever made it may keep it.
      if (!(error instanceof OperationError)) throw error;
    }
  }
}
