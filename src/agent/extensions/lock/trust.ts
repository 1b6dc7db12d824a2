/**
 * Two sandboxes share one `trust.json`, but pi 1.6.0 makes its lock beside the link in each one's private agent
 * directory, so a decision of one could overwrite the other's (S4). A kernel lock beside the real file is held around
 * pi's own reading and writing.
 */
import { readlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type KernelLock, tryLock } from '../../../lib/kernel-lock.ts';

const MARK = Symbol.for('pi-sandbox.trust-lock');
/** pi's own operation takes about a millisecond; after this bound it goes on, so that nobody can block pi for ever. */
const PATIENCE_MS = 2_000;
const PAUSE_MS = 5;

interface TrustStore {
  [MARK]?: true;
  trustPath?: unknown;
  getEntry(this: TrustStore, ...args: unknown[]): unknown;
  setMany(this: TrustStore, ...args: unknown[]): unknown;
}

function isTrustStore(value: object): value is TrustStore {
  return (
    'getEntry' in value &&
    typeof value.getEntry === 'function' &&
    'setMany' in value &&
    typeof value.setMany === 'function'
  );
}

/** Wraps pi's store once per process; a store of another form is left alone. */
export function installTrustLock(prototype: object): boolean {
  if (!isTrustStore(prototype)) return false;
  if (prototype[MARK]) return true;
  prototype[MARK] = true;
  const { getEntry, setMany } = prototype;
  prototype.getEntry = function lockedGetEntry(...args) {
    return underLock(this.trustPath, () => getEntry.apply(this, args));
  };
  prototype.setMany = function lockedSetMany(...args) {
    return underLock(this.trustPath, () => setMany.apply(this, args));
  };
  return true;
}

function underLock<T>(path: unknown, run: () => T): T {
  const shared = typeof path === 'string' ? behindLink(path) : undefined;
  if (shared === undefined) return run();
  // No record: the shared directory is seen by every domain, and a sandbox's name is a domain's word (S5).
  const lock = takeWithin(join(dirname(shared), '.trust.json.lock'));
  try {
    return run();
  } finally {
    lock?.release();
  }
}

/** Where a link leads, also to a file that is not there yet; undefined for a plain file, which nobody shares. */
function behindLink(path: string): string | undefined {
  try {
    return resolve(dirname(path), readlinkSync(path));
  } catch {
    return undefined;
  }
}

function takeWithin(path: string): KernelLock | undefined {
  const end = performance.now() + PATIENCE_MS;
  try {
    for (;;) {
      const lock = tryLock(path);
      if (lock || performance.now() >= end) return lock;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  } catch {
    // A directory we may not write to: pi will say what it cannot do there.
    return undefined;
  }
}
