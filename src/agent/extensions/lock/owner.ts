/** Takes and gives back this pi's Session locks, and says in words who else has one (H3). */
import { hostname } from 'node:os';
import { safeForTerminal } from '../../../lib/redact.ts';
import {
  readSessionHolder,
  type SessionHolder,
  type SessionLock,
  type SessionLockAttempt,
  type SessionTarget,
  trySessionLock,
} from '../../../pi/index.ts';

/** A probe of another process holds a lock for a moment; a taker tries this long before it says "taken" (rule 1). */
const PATIENCE_MS = 250;
const PAUSE_MS = 10;
/** How often a waiting pi tries again. Nobody tells it when the other one dies; a try costs a few microseconds. */
const WAIT_MS = 300;

export interface Owner {
  take(target: SessionTarget): Promise<SessionLockAttempt>;
  /** The same for one write, within pi's own synchronous call. */
  takeNow(target: SessionTarget): SessionLockAttempt;
  /** Resolves with the lock, or undefined once `signal` is aborted. Does not keep the process alive. */
  wait(target: SessionTarget, signal: AbortSignal): Promise<SessionLock | undefined>;
  describeHolder(target: SessionTarget): string;
}

export function makeOwner(directory: string, sandbox: string | undefined): Owner {
  const attempt = (target: SessionTarget): SessionLockAttempt =>
    trySessionLock(directory, target, {
      pid: process.pid,
      host: sandbox ?? hostname(),
      startedAt: new Date().toISOString(),
    });
  return {
    async take(target) {
      const end = performance.now() + PATIENCE_MS;
      for (;;) {
        const result = attempt(target);
        if ('lock' in result || performance.now() >= end) return result;
        await pause(PAUSE_MS);
      }
    },
    takeNow(target) {
      const end = performance.now() + PATIENCE_MS;
      for (;;) {
        const result = attempt(target);
        if ('lock' in result || performance.now() >= end) return result;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
      }
    },
    async wait(target, signal) {
      while (!signal.aborted) {
        const result = attempt(target);
        if ('lock' in result) return result.lock;
        await pause(WAIT_MS, true);
      }
      return undefined;
    },
    describeHolder: (target) => describe(readSessionHolder(directory, target), sandbox),
  };
}

function describe(holder: SessionHolder | undefined, sandbox: string | undefined): string {
  if (!holder) return 'open in another pi';
  const elsewhere = sandbox !== undefined && holder.host !== sandbox;
  const place = elsewhere ? `another sandbox, ${holder.host}` : 'another pi';
  // What stands in a lock file could have been written by anybody.
  return safeForTerminal(
    `open in ${place} (process ${holder.pid}, since ${holder.startedAt.replace(/\.\d+Z$/, 'Z')})`,
  );
}

function pause(milliseconds: number, idle = false): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    if (idle) timer.unref();
  });
}
