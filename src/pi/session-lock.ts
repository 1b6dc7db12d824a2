/**
 * A Session is open in one pi only (H3). Two kernel locks say so, one by the Session's id and one by the real path of
 * its file: pi itself can be given either.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { hasCode } from '../lib/errors.ts';
import { isHeld, type KernelLock, tryLock } from '../lib/kernel-lock.ts';
import { type LockRecord, readLockRecord } from '../lib/lock-record.ts';

/** A Session as it is locked. Without a file it lives in memory only, and nobody else can open it. */
export interface SessionTarget {
  id: string;
  file: string;
}

/** Who holds a Session, as its lock files say: `host` is the sandbox's name. For people to read. */
export type SessionHolder = LockRecord;

export interface SessionLock {
  release(): void;
}

/** `takenBy` is undefined when the one that holds it left no readable record. */
export type SessionLockAttempt = { lock: SessionLock } | { takenBy: SessionHolder | undefined };

/** Where the locks are: the sandbox says so in its environment; outside one, beside the sockets (seed 003). */
export function sessionLockDirectory(env: NodeJS.ProcessEnv): string {
  if (env.PI_SANDBOX_LOCK_DIR) return env.PI_SANDBOX_LOCK_DIR;
  if (env.XDG_RUNTIME_DIR) return join(env.XDG_RUNTIME_DIR, 'pi-agents', 'locks');
  const state = env.XDG_STATE_HOME || join(env.HOME || homedir(), '.local', 'state');
  return join(state, 'pi', 'agents', 'runtime', 'locks');
}

/** The lock files of a Session in the order in which they are taken. */
export function sessionLockFiles(directory: string, target: SessionTarget): [byId: string, byPath: string] {
  return lockFiles(directory, target.id, realPath(target.file));
}

function lockFiles(directory: string, id: string, path: string): [byId: string, byPath: string] {
  return [join(directory, `id-${hash(id)}.lock`), join(directory, `path-${hash(path)}.lock`)];
}

/**
 * One attempt, at once. A probe of another process can make it fail wrongly: the caller tries for 250 ms before it
 * believes that the Session is taken.
 *
 * @throws FileError when the lock directory cannot be used
 */
export function trySessionLock(
  directory: string,
  target: SessionTarget,
  holder: Omit<SessionHolder, 'what'>,
): SessionLockAttempt {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const record: LockRecord = { ...holder, what: `session ${target.id}` };
  const held: KernelLock[] = [];
  const release = (): void => {
    for (const lock of held.splice(0)) lock.release();
  };
  try {
    for (const file of sessionLockFiles(directory, target)) {
      const lock = tryLock(file, { record });
      if (!lock) {
        release();
        return { takenBy: readLockRecord(file) };
      }
      held.push(lock);
    }
  } catch (error) {
    release();
    throw error;
  }
  return { lock: { release } };
}

/**
 * True when some pi has this Session open, by its id or by its file.
 *
 * @param isReal the path is a real one already and is not looked at: somebody may be swapping what stands there
 */
export function isSessionOpen(directory: string, target: SessionTarget, { isReal = false } = {}): boolean {
  const path = isReal ? target.file : realPath(target.file);
  return lockFiles(directory, target.id, path).some((file) => isHeld(file));
}

/** Who holds a Session's lock; undefined when nobody does, or no record of it can be read. */
export function readSessionHolder(directory: string, target: SessionTarget): SessionHolder | undefined {
  const held = sessionLockFiles(directory, target).find((file) => isHeld(file));
  return held === undefined ? undefined : readLockRecord(held);
}

/** The path behind every link. A Session that is not yet written has a real directory, or a future one. */
function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'ENOTDIR')) throw error;
    const directory = dirname(file);
    return directory === file ? file : join(realPath(directory), basename(file));
  }
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
