/**
 * Taking a job away (J6, J14): under its lock it is moved to a name that no job has, then deleted through its open directory,
 * its record last, and its conversation with it. Never one that runs, or whose child does.
 */
import { rmSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { makeStateDirectory } from '../lib/atomic-file.ts';
import { renameChild, statChild, unlinkChild } from '../lib/directory-entries.ts';
import { type DirectoryHandle, openDirectory } from '../lib/directory-handle.ts';
import { hasCode, OperationError } from '../lib/errors.ts';
import { FileError } from '../lib/file-error.ts';
import { randomId } from '../lib/ids.ts';
import { type KernelLock, LockTakenError, takeLock } from '../lib/kernel-lock.ts';
import { isSessionOpen, readSessionHolder } from '../pi/index.ts';
import { type Deletion, deleteGone } from '../work/index.ts';
import { socketFile } from './control/socket-path.ts';
import { conversationTarget, isOwnConversation } from './conversation.ts';
import type { JobDeps } from './create.ts';
import { endLeftBehind } from './dead-job.ts';
import { logDeletion, type RemovalReason } from './deletion-log.ts';
import { BrokenJobError, ChildRunningError, ConversationOpenError } from './errors.ts';
import { below } from './family.ts';
import { readSmall } from './files.ts';
import { GONE_PREFIX } from './list.ts';
import { type JobDirectory, type JobsPlace, removalLock } from './places.ts';
import { type JobRecord, RECORD_FILE, readRecord } from './record.ts';
import { takeJobLock } from './reopen.ts';
import { isLive } from './status.ts';
import type { JobView } from './view.ts';

const REMOVAL_WAIT_MS = 10_000;
/** Whoever only probes or reads a job's lock is gone by then. */
const JOB_LOCK_MS = 250;

export interface RemoveDeps extends JobDeps {
  /** Where Session locks lie (H3). */
  readonly sessionLocks: string;
  /** Milliseconds to wait for another removal; default 10,000. */
  readonly waitMs?: number;
}

export interface RemovedJob {
  readonly directory: JobDirectory;
  readonly bytes: number;
  /** Also removed; null where it was not in the place for conversations, or was never written. */
  readonly conversation: string | null;
}

/** Another command removes jobs and does not end. */
export class RemovalBusyError extends OperationError {
  constructor(holder: string) {
    super(`jobs are being removed ${holder}`, { hint: 'nothing was removed; try again when it is done' });
  }
}

/** Runs `work` as the only one that removes jobs of this state directory. @throws RemovalBusyError, FileError */
export async function removing<T>(
  place: JobsPlace,
  { clock, identity, waitMs = REMOVAL_WAIT_MS }: JobDeps & Pick<RemoveDeps, 'waitMs'>,
  work: () => Promise<T>,
): Promise<T> {
  const record = { ...identity, startedAt: clock.now().toISOString(), what: 'a removal of jobs' };
  let lock: KernelLock;
  try {
    await makeStateDirectory(place.state);
    lock = await takeLock(removalLock(place), { record, waitMs, clock });
  } catch (error) {
    if (!(error instanceof LockTakenError)) throw error;
    const { record: holder } = error;
    throw new RemovalBusyError(holder ? `by process ${holder.pid} on ${holder.host}` : 'by another process');
  }
  try {
    return await work();
  } finally {
    lock.release();
  }
}

/**
 * Removes one job; call it within {@link removing}.
 *
 * @param jobs all of its project, for those below it
 * @throws JobRunningError, ChildRunningError, ConversationOpenError, BrokenJobError, FileError
 */
export async function removeJob(
  place: JobsPlace,
  directory: JobDirectory,
  why: RemovalReason,
  { jobs, ...deps }: RemoveDeps & { jobs: readonly JobView[] },
): Promise<RemovedJob> {
  const child = below(jobs, directory).find(({ status }) => isLive(status));
  if (child) throw new ChildRunningError(basename(directory), child.record.name);
  const lock = await takeJobLock(directory, 'removed', { ...deps, lockWaitMs: JOB_LOCK_MS });
  try {
    const facts = await readRecord(directory);
    if (facts.kind !== 'job') throw new BrokenJobError(directory, `its ${RECORD_FILE} cannot be read`);
    const { record } = facts;
    const conversation = isOwnConversation(place, record) ? record.session : undefined;
    await endLeftBehind(directory, deps);
    refuseOpen(record, deps.sessionLocks);
    const view = jobs.find((job) => job.directory === directory);
    if (why === 'age') await refuseRunSince(directory, view);
    const now = deps.clock.now();
    const { realProject: project } = record;
    const endedAt = view?.endedAt;
    await logDeletion(place, { event: 'removing', job: directory, project, why, endedAt, conversation }, now);
    // Nobody listens on it while this process has the lock (J9).
    clearSocket(socketFile(place, directory));
    let freed: number | undefined;
    const { bytes, entries, obstacle } = await deleteJob(directory, deps, () => {
      if (conversation !== undefined) freed = deleteConversation(conversation);
    });
    const total = bytes + (freed ?? 0);
    if (obstacle === undefined) {
      await logDeletion(place, { event: 'removed', job: directory, bytes: total, entries }, deps.clock.now());
    } else {
      const reason = `${obstacle.path}: ${obstacle.reason}`;
      await logDeletion(place, { event: 'kept', job: directory, reason }, deps.clock.now());
      throw new OperationError(`a part of ${directory} stays: ${reason}`, {
        hint: 'the next prune goes on with it',
      });
    }
    return { directory, bytes: total, conversation: freed === undefined ? null : (conversation ?? null) };
  } finally {
    lock.release();
  }
}

function clearSocket(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch (error) {
    throw new FileError('remove', path, error);
  }
}

function refuseOpen(record: JobRecord, locks: string): void {
  const target = conversationTarget(record);
  if (isSessionOpen(locks, target))
    throw new ConversationOpenError(record.name, readSessionHolder(locks, target));
}

/** What was old when it was listed may have had another run since then. */
async function refuseRunSince(directory: JobDirectory, view: JobView | undefined): Promise<void> {
  const startedAt = (await readSmall(directory, 'started_at'))?.trim();
  if (startedAt === view?.startedAt?.trim()) return;
  throw new OperationError(`job "${basename(directory)}" has had another run meanwhile`, {
    hint: 'it is kept',
  });
}

async function deleteJob(
  directory: JobDirectory,
  { random }: RemoveDeps,
  beforeRecord: () => void,
): Promise<Deletion> {
  const jobs = openDirectory(dirname(directory));
  try {
    const gone = `${GONE_PREFIX}${randomId(16, random)}`;
    renameChild(jobs, basename(directory), jobs, gone);
    return await deleteGoneJob(jobs, gone, beforeRecord);
  } finally {
    jobs.close();
  }
}

/**
 * Deletes a directory of a job that has no name any more, its record last: what a crash leaves says what it was, and which
 * conversation goes with it (J11). That one is deleted by `beforeRecord`.
 */
export function deleteGoneJob(
  jobs: DirectoryHandle,
  name: string,
  beforeRecord: () => void,
): Promise<Deletion> {
  return deleteGone(jobs, name, RECORD_FILE, beforeRecord);
}

/** Bytes on the disk; undefined where there is none. */
export function deleteConversation(path: string): number | undefined {
  let folder: DirectoryHandle;
  try {
    folder = openDirectory(dirname(path));
  } catch (error) {
    if (error instanceof FileError && hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
  try {
    const stats = statChild(folder, basename(path));
    if (!stats?.isFile()) return undefined;
    unlinkChild(folder, basename(path));
    return stats.blocks * 512;
  } finally {
    folder.close();
  }
}
