/** The user's profile, as commands and the tool in pi work on it (W11). */
import { existsSync } from 'node:fs';
import { makeStateDirectory } from '../../lib/atomic-file.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { LimitError } from '../../lib/errors.ts';
import { LockTakenError, takeLock } from '../../lib/kernel-lock.ts';
import type { LockRecord } from '../../lib/lock-record.ts';
import type { AgentDir } from '../agent-directory.ts';
import { stateDir, stateFile } from '../places.ts';
import { DEFAULT_BUDGET } from './budget.ts';
import { readPending } from './journal.ts';
import { withEntry, withoutEntry, withReplaced } from './profile.ts';
import { finish, MAX_FILE_BYTES, readStored, type Stored, store } from './store.ts';

const LOCK_WAIT_MS = 10_000;

export type MemoryEdit =
  | { readonly action: 'add'; readonly text: string }
  | { readonly action: 'replace'; readonly old: string; readonly text: string }
  | { readonly action: 'remove'; readonly text: string };

export interface MemoryOptions {
  /** Bytes. */
  readonly budget?: number;
  readonly waitMs?: number;
  readonly clock?: Clock;
  /** Written into the lock file for people. */
  readonly holder?: LockRecord;
}

export interface MemoryState {
  readonly profile: string;
  readonly bytes: number;
  /** 0 while all of it is in `USER.md`. */
  readonly shards: number;
}

export interface MemoryResult extends MemoryState {
  /** False when it was so already. */
  readonly changed: boolean;
  /** The whole entry that was removed. */
  readonly removed: string | undefined;
}

/**
 * Changes the profile. Of several at once, in whatever sandboxes of a domain, each sees what the one before it wrote; one
 * that was interrupted is ended before the next begins.
 *
 * @throws NotInProfileError, AmbiguousTextError, UsageError, LimitError, LockTakenError, FileError
 */
export async function editMemory(
  agentDir: AgentDir,
  edit: MemoryEdit,
  { budget = DEFAULT_BUDGET, waitMs = LOCK_WAIT_MS, clock = systemClock, holder }: MemoryOptions = {},
): Promise<MemoryResult> {
  await makeStateDirectory(stateDir(agentDir));
  const record = holder === undefined ? {} : { record: holder };
  const lock = await takeLock(lockPath(agentDir), { waitMs, clock, ...record });
  try {
    const pending = await readPending(agentDir);
    if (pending !== undefined) await finish(agentDir, pending);
    const before = await readStored(agentDir);
    const { profile, removed } = edited(before.profile, edit);
    if (Buffer.byteLength(profile) > MAX_FILE_BYTES / 2)
      throw new LimitError(`the profile would be longer than ${MAX_FILE_BYTES / 2} bytes`);
    const changed = profile !== before.profile;
    // A file that people made too long goes into shards at the next edit, whatever that changes.
    if (!changed && (before.sharded || fits(profile, budget)))
      return { ...stateOf(profile, before.shards), changed, removed };
    const { shards } = await store(agentDir, before, profile, budget);
    return { ...stateOf(profile, shards), changed, removed };
  } finally {
    lock.release();
  }
}

function fits(profile: string, budget: number): boolean {
  return Buffer.byteLength(profile) <= budget;
}

function edited(profile: string, edit: MemoryEdit): { profile: string; removed: string | undefined } {
  switch (edit.action) {
    case 'add':
      return { profile: withEntry(profile, edit.text), removed: undefined };
    case 'replace':
      return { profile: withReplaced(profile, edit.old, edit.text), removed: undefined };
    case 'remove':
      return withoutEntry(profile, edit.text);
  }
}

/**
 * The whole profile, from wherever its parts are. Changes nothing.
 *
 * @throws FileError, UnsafeFileError, LimitError, OperationError for what is no text
 */
export async function readMemory(
  agentDir: AgentDir,
  { waitMs = LOCK_WAIT_MS, clock = systemClock }: Pick<MemoryOptions, 'waitMs' | 'clock'> = {},
): Promise<MemoryState> {
  // Where nobody ever took the lock, nobody writes several files.
  const lock = existsSync(lockPath(agentDir)) ? await whenFree(agentDir, waitMs, clock) : undefined;
  try {
    const pending = await readPending(agentDir);
    const { profile, shards }: Pick<Stored, 'profile' | 'shards'> = await readStored(agentDir);
    return stateOf(pending?.profile ?? profile, shards);
  } finally {
    lock?.release();
  }
}

/** One who may not lock may still read, at the risk of seeing a change half done. */
async function whenFree(
  agentDir: AgentDir,
  waitMs: number,
  clock: Clock,
): Promise<{ release(): void } | undefined> {
  try {
    return await takeLock(lockPath(agentDir), { waitMs, clock });
  } catch (error) {
    if (error instanceof LockTakenError) throw error;
    return undefined;
  }
}

function lockPath(agentDir: AgentDir): string {
  return stateFile(agentDir, 'user-preferences.lock');
}

function stateOf(profile: string, shards: number): MemoryState {
  return { profile, bytes: Buffer.byteLength(profile), shards };
}
