/**
 * The next run of a job (J2): its lock is taken, its conversation is freed of a pi that outlived its runner, what the run
 * before left is cleared, and only then the new one is written.
 */
import { utimes } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type StagedFile, stageFile } from '../lib/atomic-file.ts';
import { hasCode, PiSandboxError } from '../lib/errors.ts';
import { type FileLock, LockTakenError, takeLock } from '../lib/kernel-lock.ts';
import { retryUntil } from '../lib/retry.ts';
import { type SessionHolder, type SessionLock, trySessionLock } from '../pi/index.ts';
import { conversationTarget } from './conversation.ts';
import type { JobDeps } from './create.ts';
import { BrokenJobError, ConversationOpenError, JobNotFoundError, JobRunningError } from './errors.ts';
import {
  CLEARED_BY_A_RUN,
  clearFile,
  clearHalfWritten,
  jobFile,
  LOCK_FILE,
  readSmall,
  type SmallFile,
  textBytes,
} from './files.ts';
import type { HeldJob } from './held-job.ts';
import type { JobDirectory, JobsPlace } from './places.ts';
import { type JobRecord, RECORD_FILE, readRecord, recordText } from './record.ts';

/** A run that is just ending lets go within this time (J2). */
const LOCK_WAIT_MS = 5_000;
/** A pi whose runner is gone ends by itself within this time; then it is ended (J2). */
const OLD_PI_MS = 10_000;
/** One that was ended lets go at once. */
const ENDED_PI_MS = 2_000;

/** What a new run may decide anew of `job.json`. */
export type RunSettings = Partial<
  Pick<
    JobRecord,
    'runMode' | 'timeoutSeconds' | 'startedBySession' | 'startedByRun' | 'ask' | 'maxCost' | 'maxTokens'
  >
>;

export interface ReopenDeps extends JobDeps {
  /** Where Session locks lie (H3). */
  readonly sessionLocks: string;
  /** Ends what a run without a runner has left running: its pi and that one's tools. */
  readonly endOldProcesses: (directory: JobDirectory) => Promise<void>;
  readonly settings?: RunSettings;
  readonly lockWaitMs?: number;
  readonly oldPiMs?: number;
}

/**
 * Opens a job for its next run; the caller runs it, or hands it to a runner.
 *
 * @throws JobRunningError (it runs, or another one was faster), ConversationOpenError, BrokenJobError,
 *   JobNotFoundError, FileError; the job is then as it was
 */
export async function reopenJob(
  place: JobsPlace,
  directory: JobDirectory,
  prompt: string,
  deps: ReopenDeps,
): Promise<HeldJob> {
  const lock = await takeJobLock(directory, 'resumed', deps);
  try {
    const facts = await readRecord(directory);
    if (facts.kind !== 'job') {
      throw new BrokenJobError(directory, facts.kind === 'broken' ? facts.reason : 'it has no record');
    }
    // Told of its end anew (J12).
    const record: JobRecord = { ...facts.record, ...deps.settings, notifiedAt: null };
    await freeConversation(directory, record, deps);
    await beginRun(directory, record, prompt, deps);
    await touchJobs(directory, deps);
    return { place, directory, record, lock };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Who watches the directory of jobs sees each start there; so a resume shows there too (J12). */
async function touchJobs(directory: JobDirectory, { clock }: ReopenDeps): Promise<void> {
  const now = clock.now();
  // Only told later where it cannot be.
  await utimes(dirname(directory), now, now).catch(() => undefined);
}

/** @throws JobRunningError, JobNotFoundError, FileError */
export async function takeJobLock(
  directory: JobDirectory,
  wanted: string,
  { clock, identity, lockWaitMs = LOCK_WAIT_MS }: JobDeps & { lockWaitMs?: number },
): Promise<FileLock> {
  const name = directory.slice(directory.lastIndexOf('/') + 1);
  const record = { ...identity, startedAt: clock.now().toISOString(), what: `job ${name}` };
  try {
    return await takeLock(jobFile(directory, LOCK_FILE), { record, waitMs: lockWaitMs, clock });
  } catch (error) {
    if (error instanceof LockTakenError) throw new JobRunningError(name, wanted, error.record);
    if (hasCode(error, 'ENOENT')) throw new JobNotFoundError(name, directory);
    throw error;
  }
}

/**
 * Waits for the pi of the run before, and ends it when it does not go (J2): two of them would write one conversation. The
 * Session's lock goes to the new pi, so it is only looked whether it can be had.
 */
async function freeConversation(directory: JobDirectory, record: JobRecord, deps: ReopenDeps): Promise<void> {
  const { endOldProcesses, oldPiMs = OLD_PI_MS } = deps;
  const first = await takeConversation(record, deps, oldPiMs);
  // Without the lock extension a pi holds nothing, and its tools never do; nor did every run find all that it left (J11).
  await endOldProcesses(directory);
  const second = 'lock' in first ? first : await takeConversation(record, deps, ENDED_PI_MS);
  if (!('lock' in second)) throw new ConversationOpenError(record.name, second.takenBy);
  second.lock.release();
}

async function takeConversation(
  record: JobRecord,
  { clock, identity, sessionLocks }: ReopenDeps,
  waitMs: number,
): Promise<{ lock: SessionLock } | { takenBy: SessionHolder | undefined }> {
  const target = conversationTarget(record);
  const holder = { ...identity, startedAt: clock.now().toISOString() };
  let takenBy: SessionHolder | undefined;
  const taken = await retryUntil(
    () => {
      const attempt = trySessionLock(sessionLocks, target, holder);
      if ('lock' in attempt) return attempt;
      takenBy = attempt.takenBy;
      return undefined;
    },
    { deadlineMs: waitMs, clock },
  );
  return taken ?? { takenBy };
}

/** What cannot be read is as good as not there: the next run writes it anew (J11). */
async function readUndamaged(directory: JobDirectory, name: SmallFile): Promise<string | undefined> {
  try {
    return await readSmall(directory, name);
  } catch (error) {
    if (error instanceof PiSandboxError) return undefined;
    throw error;
  }
}

/**
 * The new run is on the disk before anything of the one before goes: where there is no room for it, nothing is lost (J11).
 * Then `exit_code` goes first: from then on it is the new run whose lock is held.
 */
async function beginRun(
  directory: JobDirectory,
  record: JobRecord,
  prompt: string,
  { clock }: ReopenDeps,
): Promise<void> {
  const before = Number((await readUndamaged(directory, 'runs')) ?? '0');
  await clearHalfWritten(directory);
  const staged: StagedFile[] = [];
  try {
    for (const [name, content] of [
      ['status', 'starting\n'],
      [RECORD_FILE, recordText(record)],
      ['prompt.txt', textBytes('prompt.txt', prompt)],
      ['runs', `${Number.isSafeInteger(before) && before > 0 ? before + 1 : 1}\n`],
      ['started_at', `${clock.now().toISOString()}\n`],
    ] as const) {
      staged.push(await stageFile(`${directory}/${name}`, content));
    }
    for (const name of CLEARED_BY_A_RUN) await clearFile(directory, name);
    for (const file of staged) await file.commit();
  } catch (error) {
    await Promise.all(staged.map((file) => file.discard()));
    throw error;
  }
}
