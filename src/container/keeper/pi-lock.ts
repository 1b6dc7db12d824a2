import { lstatSync, mkdirSync, rmdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode, OperationError } from '../../lib/errors.ts';

/** pi holds it for a read or a write of one small file; longer means that its holder died. */
const TRIES = 100;
const PAUSE_MS = 10;
/** How old pi's lock directory must be to count as left by a dead process: pi's own rule. */
const STALE_MS = 10_000;

/**
 * Runs `work` while holding the lock directory that pi itself takes for each read and write of `path`. pi waits
 * 200 ms for it and then fails, so `work` is synchronous and touches memory only.
 *
 * @throws OperationError when the lock stays taken; a stale one is removed once it is old enough
 */
export async function underPiLock<T>(path: string, work: () => T): Promise<T> {
  const lock = `${path}.lock`;
  for (let tries = 0; !tryMake(lock); tries++) {
    const stat = lstatSync(lock, { throwIfNoEntry: false });
    if (stat !== undefined && Date.now() - stat.mtimeMs > STALE_MS) remove(lock);
    else if (tries >= TRIES) throw new OperationError(`${lock} stays taken`);
    else await sleep(PAUSE_MS);
  }
  try {
    return work();
  } finally {
    remove(lock);
  }
}

function tryMake(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

function remove(path: string): void {
  try {
    rmdirSync(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}
