/** Removing jobs that ended longer ago than they are kept, and what killed starts and removals have left (J14). */
import { type Dirent, statSync } from 'node:fs';
import { entriesOf, removeEmptyChild, statChild, unlinkChild } from '../lib/directory-entries.ts';
import { type DirectoryHandle, openChildDirectory, openDirectory } from '../lib/directory-handle.ts';
import { hasCode, messageOf, PiSandboxError } from '../lib/errors.ts';
import { type KernelLock, tryLock } from '../lib/kernel-lock.ts';
import { isSessionOpen } from '../pi/index.ts';
import { conversationTarget, isOwnConversation } from './conversation.ts';
import { logDeletion } from './deletion-log.ts';
import { below } from './family.ts';
import { JOB_FILES, jobFile, LOCK_FILE } from './files.ts';
import { GONE_PREFIX, isLeftover, listJobs } from './list.ts';
import { type JobDirectory, type JobsPlace, jobsDirectory } from './places.ts';
import type { JobProject } from './project.ts';
import { RECORD_FILE, readRecord } from './record.ts';
import { deleteConversation, deleteGoneJob, type RemoveDeps, removeJob, removing } from './remove.ts';
import { isLive } from './status.ts';
import type { JobView } from './view.ts';

/** A start makes its directory and locks it within moments; what is older and free is a dead one's. */
const LEFTOVER_MS = 600_000;

export interface PruneOptions extends RemoveDeps {
  /** Milliseconds since the end of a job; undefined keeps every job. */
  readonly olderThanMs: number | undefined;
  readonly dryRun: boolean;
}

export interface PrunedJob {
  readonly job: JobView;
  readonly bytes: number;
}

export interface JobPruneReport {
  /** What went, or would go. */
  readonly removed: readonly PrunedJob[];
  /** What should have gone and stays, and why. */
  readonly failed: readonly { readonly job: JobDirectory; readonly reason: string }[];
  readonly kept: number;
  readonly leftovers: number;
}

/** Prunes one project. @throws RemovalBusyError, FileError */
export async function pruneJobs(
  place: JobsPlace,
  project: JobProject,
  options: PruneOptions,
): Promise<JobPruneReport> {
  if (options.dryRun) {
    const { jobs } = await listJobs(place, project);
    const removed = due(jobs, options).map((job) => ({ job, bytes: 0 }));
    return { removed, failed: [], kept: jobs.length - removed.length, leftovers: 0 };
  }
  return removing(place, options, async () => {
    const { jobs: now } = await listJobs(place, project);
    const removed: PrunedJob[] = [];
    const failed: { job: JobDirectory; reason: string }[] = [];
    for (const job of due(now, options)) {
      try {
        const { bytes } = await removeJob(place, job.directory, 'age', { ...options, jobs: now });
        removed.push({ job, bytes });
      } catch (error) {
        if (!(error instanceof PiSandboxError)) throw error;
        failed.push({ job: job.directory, reason: messageOf(error) });
      }
    }
    const leftovers = await pruneLeftovers(place, project, options);
    failed.push(...leftovers.failed);
    return { removed, failed, kept: now.length - removed.length, leftovers: leftovers.count };
  });
}

/** Children before their parents, so that no child is left whose parent nobody knows any more. */
function due(jobs: readonly JobView[], { olderThanMs, clock }: PruneOptions): JobView[] {
  if (olderThanMs === undefined) return [];
  const before = clock.now().getTime() - olderThanMs;
  const isOld = (job: JobView): boolean => !isLive(job.status) && endOf(job) <= before;
  return jobs.filter((job) => isOld(job) && !below(jobs, job.directory).some(({ status }) => isLive(status)));
}

/** Nobody has written when a job died: it was after the last thing that it told. */
function endOf({ directory, status, endedAt, startedAt, record }: JobView): number {
  const end = Date.parse(endedAt ?? startedAt ?? record.createdAt);
  if (status !== 'died') return end;
  const told = (['progress.log', 'status'] as const).map(
    (name) => statSync(jobFile(directory, name), { throwIfNoEntry: false })?.mtimeMs ?? 0,
  );
  return Math.max(end, ...told);
}

/** How many went, and which one could not. */
async function pruneLeftovers(
  place: JobsPlace,
  project: JobProject,
  deps: PruneOptions,
): Promise<{ count: number; failed: { job: JobDirectory; reason: string }[] }> {
  let jobs: DirectoryHandle;
  try {
    jobs = openDirectory(jobsDirectory(place, project.folder));
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return { count: 0, failed: [] };
    throw error;
  }
  let count = 0;
  const failed: { job: JobDirectory; reason: string }[] = [];
  try {
    for (const { name } of [...entriesOf(jobs)].filter(isOldEntry)) {
      try {
        if (await pruneLeftover(place, jobs, name, deps)) count++;
      } catch (error) {
        if (!(error instanceof PiSandboxError)) throw error;
        failed.push({ job: `${jobs.path}/${name}`, reason: messageOf(error) });
      }
    }
    return { count, failed };
  } finally {
    jobs.close();
  }
}

function isOldEntry(entry: Dirent): boolean {
  return entry.isDirectory() && isLeftover(entry.name);
}

async function pruneLeftover(
  place: JobsPlace,
  jobs: DirectoryHandle,
  name: string,
  { clock, sessionLocks }: PruneOptions,
): Promise<boolean> {
  const changed = statChild(jobs, name)?.mtimeMs;
  const isGone = name.startsWith(GONE_PREFIX);
  if (changed === undefined || (!isGone && clock.now().getTime() - changed < LEFTOVER_MS)) return false;
  const path = `${jobs.path}/${name}`;
  const directory = openChildDirectory(jobs, name);
  let lock: KernelLock | undefined;
  try {
    // Its lock may be deleted already; a record is there to the end, and without one there is nothing to lose.
    if (statChild(directory, LOCK_FILE) !== undefined) {
      lock = tryLock(`${path}/${LOCK_FILE}`);
      if (lock === undefined) return false;
    }
    const conversation = isGone ? await conversationOf(place, path, sessionLocks) : undefined;
    await logDeletion(
      place,
      { event: 'removing', job: path, project: undefined, why: 'leftover', conversation },
      clock.now(),
    );
    if (isGone || statChild(directory, RECORD_FILE) !== undefined) {
      await deleteGoneJob(jobs, name, () => {
        if (conversation !== undefined) deleteConversation(conversation);
      });
    } else removeKnown(directory);
    return removeEmptyChild(jobs, name) || statChild(jobs, name) === undefined;
  } finally {
    lock?.release();
    directory.close();
  }
}

/** Of a job whose removal was cut short; one that somebody has opened since then stays. */
async function conversationOf(place: JobsPlace, path: string, locks: string): Promise<string | undefined> {
  const facts = await readRecord(path);
  if (facts.kind !== 'job' || !isOwnConversation(place, facts.record)) return undefined;
  return isSessionOpen(locks, conversationTarget(facts.record)) ? undefined : facts.record.session;
}

/** Without a record only what a start writes is ours. */
function removeKnown(directory: DirectoryHandle): void {
  for (const name of [...JOB_FILES, LOCK_FILE]) {
    if (statChild(directory, name)?.isFile()) unlinkChild(directory, name);
  }
}
