/** What a job is right now, as its lock and its files say (J2): the one reading order there is. */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf, PiSandboxError } from '../lib/errors.ts';
import { isHeld } from '../lib/kernel-lock.ts';
import { quickRead, quickWord } from '../lib/quick-read.ts';
import { BrokenJobError } from './errors.ts';
import { jobFile, LOCK_FILE, readSmall } from './files.ts';
import type { JobDirectory } from './places.ts';
import { type JobRecord, parseRecord, RECORD_FILE, readRecord } from './record.ts';
import { EXIT_CODES, FINAL_STATUSES, type FinalStatus, isLive, type JobStatus } from './status.ts';

/** So long a runner that has written its `exit_code` may need to let go (J2). */
const LET_GO_MS = 50;
/** Two decide, but for runs that begin and end in between. */
const MOST_LOOKS = 4;

/** A job with its latest run. Times are ISO 8601. */
export interface JobView {
  readonly directory: JobDirectory;
  readonly record: JobRecord;
  readonly status: JobStatus;
  readonly startedAt: string | undefined;
  readonly endedAt: string | undefined;
}

/** What was found of a run in one look. */
interface Look {
  readonly held: boolean;
  /** As written; undefined: the run has not been committed. */
  readonly exitCode: string | undefined;
  /** As written, while it runs. */
  readonly status: string | undefined;
}

/** How one look is read: a status, or that another look has to decide. */
export type Reading = JobStatus | 'look again';

/**
 * The reading order of J2, which a look decides together with the one before it:
 *
 * - `exit_code` and a free lock: final. With a held lock the runner is about to let go, or a new run about to clear; when
 *   it is so twice, it is final all the same.
 * - a held lock without `exit_code`: it runs.
 * - neither: a new run may have begun between the two parts of a look; when it is so twice, it has died.
 */
export function readingOf({ held, exitCode, status }: Look, before: Look | undefined): Reading {
  if (exitCode !== undefined) {
    const isStill = before?.held === true && before.exitCode !== undefined;
    return held && !isStill ? 'look again' : finalOf(exitCode);
  }
  // The last word of `status` is no end before `exit_code` is there.
  if (held) return status !== undefined && isLive(status) ? status : 'running';
  const isStill = before !== undefined && !before.held && before.exitCode === undefined;
  return isStill ? 'died' : 'look again';
}

/** Each status has a code of its own; a code that nobody writes is a run that went wrong. */
function finalOf(exitCode: string): FinalStatus {
  return FINAL_STATUSES.find((status) => String(EXIT_CODES[status]) === exitCode) ?? 'failed';
}

/**
 * The status of a job's latest run.
 *
 * @throws FileError, LimitError
 */
export async function readStatus(directory: JobDirectory): Promise<JobStatus> {
  let before: Look | undefined;
  for (let looks = 1; ; looks++) {
    const now = look(directory);
    const reading = readingOf(now, before);
    if (reading !== 'look again') return reading;
    if (looks === MOST_LOOKS) return now.exitCode === undefined ? 'died' : finalOf(now.exitCode);
    before = now;
    if (now.held) await sleep(LET_GO_MS);
  }
}

/** The lock first: a run that ends after it has written its `exit_code`, and is then read. */
function look(directory: JobDirectory): Look {
  const held = isHeld(jobFile(directory, LOCK_FILE));
  const exitCode = word(directory, 'exit_code');
  return { held, exitCode, status: held && exitCode === undefined ? word(directory, 'status') : undefined };
}

function word(directory: JobDirectory, name: 'exit_code' | 'status' | 'started_at' | 'ended_at') {
  return quickWord(jobFile(directory, name));
}

/** @throws BrokenJobError; FileError */
export async function readJob(directory: JobDirectory): Promise<JobView> {
  const facts = await readRecord(directory);
  if (facts.kind !== 'job') {
    throw new BrokenJobError(
      directory,
      facts.kind === 'broken' ? facts.reason : `there is no ${RECORD_FILE}`,
    );
  }
  const status = await readStatus(directory);
  const [startedAt, endedAt] = [
    await readSmall(directory, 'started_at'),
    await readSmall(directory, 'ended_at'),
  ];
  return { directory, record: facts.record, status, startedAt, endedAt };
}

export type QuickView =
  | ({ readonly kind: 'job' } & JobView)
  | { readonly kind: 'broken'; readonly directory: JobDirectory; readonly reason: string }
  | { readonly kind: 'none' };

/**
 * One job of many, with as few system calls as there can be: where there is an `exit_code` the lock is not asked, for
 * then the run is over, or was a moment ago.
 */
export function quickView(directory: JobDirectory, isMine: (record: JobRecord) => boolean): QuickView {
  try {
    const text = quickRead(`${directory}/${RECORD_FILE}`);
    if (text === undefined) return { kind: 'none' };
    const facts = parseRecord(directory, text);
    if (facts.kind !== 'job') return { kind: 'broken', directory, reason: reasonOf(facts) };
    const { record } = facts;
    if (!isMine(record)) return { kind: 'none' };
    return viewOf(directory, record, quickStatus(directory));
  } catch (error) {
    if (!(error instanceof PiSandboxError)) throw error;
    return { kind: 'broken', directory, reason: messageOf(error) };
  }
}

function quickStatus(directory: JobDirectory): JobStatus {
  let before: Look | undefined;
  for (let looks = 1; looks <= MOST_LOOKS; looks++) {
    const exitCode = word(directory, 'exit_code');
    if (exitCode !== undefined) return finalOf(exitCode);
    const now = look(directory);
    const reading = readingOf(now, before);
    if (reading !== 'look again') return reading;
    before = now;
  }
  return 'died';
}

function viewOf(directory: JobDirectory, record: JobRecord, status: JobStatus): QuickView {
  const startedAt = word(directory, 'started_at');
  const endedAt = isLive(status) || status === 'died' ? undefined : word(directory, 'ended_at');
  return { kind: 'job', directory, record, status, startedAt, endedAt };
}

function reasonOf(facts: Exclude<ReturnType<typeof parseRecord>, { kind: 'job' }>): string {
  return facts.kind === 'broken' ? facts.reason : `there is no ${RECORD_FILE}`;
}
