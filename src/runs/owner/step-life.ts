/**
 * A step that runs, from its job to its written end (R3, R7). What is to be done is told by the disk alone: so it is the same
 * for a step that begins, and for one that another owner has begun.
 */
import {
  BrokenJobError,
  endDeadJob,
  type JobDirectory,
  JobNameTakenError,
  JobRunningError,
  jobEnd,
  readSmall,
} from '../../jobs/index.ts';
import { messageOf, PiSandboxError } from '../../lib/errors.ts';
import type { NewEvent } from '../events.ts';
import type { Step } from '../graph/graph.ts';
import type { JobEnd } from '../scheduler.ts';
import { REASON_CHARACTERS } from '../status-file.ts';
import { keepOutput } from './artifacts.ts';
import { endJob } from './end-job.ts';
import type { Owned } from './options.ts';
import { messagesOf, type StepMessage } from './prompt.ts';
import type { Spending } from './spending.ts';
import { type FoundJob, foundJob, isRunning, makeStepJob, reopenStepJob, stepJob } from './step-job.ts';

/** Each look but the last begins a run of the job, or finds one; a job that others keep removing ends here. */
const MOST_LOOKS = 8;

export interface StepLife {
  readonly step: Step;
  /** Its end is wanted. */
  readonly wanted: AbortSignal;
  /** What its job tells of itself while it runs. */
  readonly onStatus: (status: string) => void;
}

/** @throws FileError when its end could not be written: then nothing is lost, and the next owner does it */
export async function liveStep(owned: Owned, spending: Spending, life: StepLife): Promise<void> {
  const { held, ledger, over } = owned;
  const { step } = life;
  const job = stepJob(held, step);
  try {
    const end = await seeToItsEnd(owned, life, job);
    if (end === undefined || over.aborted) return;
    await writeEnd(owned, spending, life, job, end);
  } catch (error) {
    // What the step's own files are the reason of is its failure; what the run's are is ours.
    if (over.aborted || !(error instanceof StepRefusal)) throw error;
    await ledger.put({ type: 'step-refused', step: step.id, reason: error.reason });
  }
}

/** It could not begin, or nobody can tell how it ended. */
class StepRefusal extends Error {
  readonly reason: string;

  constructor(cause: unknown) {
    super(messageOf(cause), { cause });
    this.reason = messageOf(cause).slice(0, REASON_CHARACTERS);
  }
}

async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof PiSandboxError ? new StepRefusal(error) : error;
  }
}

/** Undefined when the owner's own end came first. */
async function seeToItsEnd(owned: Owned, life: StepLife, job: JobDirectory): Promise<JobEnd | undefined> {
  const { held, deps, over } = owned;
  const progress: Progress = { begun: false, retried: held.manifest.retry === 'none' };
  try {
    for (let looks = 1; looks <= MOST_LOOKS; looks++) {
      const found = await refusing(() => foundJob(held, job));
      if (over.aborted) return undefined;
      const end = await nextOf(owned, life, job, found, progress);
      if (end !== 'goes on') return end;
    }
    throw new StepRefusal(new Error('its job does not come to an end'));
  } catch (error) {
    const { clock, onFailure = () => undefined } = deps;
    // Nobody would follow it any more.
    if (error instanceof StepRefusal && progress.begun)
      await endJob(held.place.jobs, job, { clock, ended: over, onFailure });
    throw error;
  }
}

interface Progress {
  /** Its job is this run's, and may live. */
  begun: boolean;
  /** It is not begun anew any more. */
  retried: boolean;
}

/** What one look at the job leads to. */
async function nextOf(
  owned: Owned,
  life: StepLife,
  job: JobDirectory,
  found: FoundJob,
  progress: Progress,
): Promise<JobEnd | undefined | 'goes on'> {
  const { ledger } = owned;
  const { step, wanted } = life;
  if (isRunning(found)) {
    if (!progress.begun) await ledger.note({ type: 'attached', step: step.id, job });
    progress.begun = true;
    return (await followed(owned, life, job)) ? 'goes on' : undefined;
  }
  if (found.kind === 'found') {
    if (!isCutShort(found, progress)) return endOf(found, job);
    const isAttempts = found.runs >= attemptsOf(owned, step);
    if (wanted.aborted || (isAttempts && progress.retried)) return lastOf(owned, found, job);
    if (isAttempts) {
      progress.retried = true;
      await ledger.put({ type: 'step-started', step: step.id, job });
    }
  } else if (wanted.aborted) return { status: 'aborted', reason: 'its end was wanted before it began' };
  progress.begun = true;
  await begin(owned, step, job, found);
  return 'goes on';
}

function attemptsOf({ ledger }: Owned, { id }: Step): number {
  return ledger.state.steps[id]?.attempts ?? 1;
}

async function begin(
  { held, deps, ledger }: Owned,
  step: Step,
  job: JobDirectory,
  found: FoundJob,
): Promise<void> {
  await refusing(async () => {
    try {
      const messages = await messagesFor({ held, ledger }, step);
      if (found.kind === 'none') await makeStepJob(held, step, messages, deps);
      else await reopenStepJob(held, step, job, messages, deps);
    } catch (error) {
      // Somebody was faster: it is looked at again.
      if (!(error instanceof JobNameTakenError) && !(error instanceof JobRunningError)) throw error;
    }
  });
}

/** The whole journal is read only where there is something to find. */
async function messagesFor(
  { held, ledger }: Pick<Owned, 'held' | 'ledger'>,
  { id }: Step,
): Promise<StepMessage[]> {
  const isTold = (ledger.state.steps[id]?.messages ?? 0) > 0;
  return isTold ? await messagesOf(held.directory, id) : [];
}

/** Whoever sent them was told that they are kept: that nobody has read them is told too. */
async function unread(owned: Owned, step: Step): Promise<NewEvent[]> {
  const left = (await messagesFor(owned, step)).filter(({ receipt, isLate }) => receipt === 'kept' && isLate);
  if (left.length === 0) return [];
  const text = `step "${step.id}" has ended, and ${left.length} of its messages ${left.length === 1 ? 'was' : 'were'} not put in`;
  return [{ type: 'problem', text }];
}

/** Waits for the end of a job's run, and brings it about when it is wanted. @returns false when the owner ended first */
async function followed({ held, deps, over }: Owned, life: StepLife, job: JobDirectory): Promise<boolean> {
  const { clock, onFailure = () => undefined } = deps;
  const jobs = held.place.jobs;
  const ended = new AbortController();
  const signal = AbortSignal.any([over, ended.signal]);
  const endIt = (): void => void endJob(jobs, job, { clock, ended: signal, onFailure });
  if (life.wanted.aborted) endIt();
  else life.wanted.addEventListener('abort', endIt, { once: true, signal: ended.signal });
  try {
    const view = await refusing(() =>
      jobEnd(jobs, job, {
        clock,
        signal: over,
        onNotice: (notice) => {
          if (notice.event === 'status') life.onStatus(notice.status);
        },
      }),
    );
    return view !== undefined;
  } finally {
    ended.abort();
  }
}

type Found = Extract<FoundJob, { kind: 'found' }>;

async function endOf(found: Found, job: JobDirectory): Promise<JobEnd> {
  const { status } = found;
  if (status === 'starting' || status === 'running' || status === 'waiting')
    throw new StepRefusal(new BrokenJobError(job, 'it has an end and runs'));
  const reason = status === 'done' ? undefined : await refusing(() => readSmall(job, 'reason'));
  return { status, reason: reason ?? null };
}

/**
 * Whether its job ended before its work did. One that was killed while the run had no owner was so with it: a sandbox that is
 * stopped ends both (R7).
 */
function isCutShort({ status }: Found, { begun }: Progress): boolean {
  return status === 'died' || (!begun && (status === 'killed' || status === 'aborted'));
}

/** One that was cut short and is not run any more: what a dead one has left running is ended (J4). */
async function lastOf({ deps }: Owned, found: Found, job: JobDirectory): Promise<JobEnd> {
  if (found.status !== 'died') return endOf(found, job);
  await endDeadJob(job, deps).catch((error: unknown) => deps.onFailure?.(error));
  return { status: 'died', reason: 'its job died: whatever ran it is gone' };
}

/** All that it leaves is kept, and then it is told that it has ended (R1). */
async function writeEnd(
  owned: Owned,
  spending: Spending,
  { step }: StepLife,
  job: JobDirectory,
  end: JobEnd,
): Promise<void> {
  const { held, deps, ledger } = owned;
  const tooLong = await keepOutput(held.directory, step.id, job);
  const noDiff = step.worktree ? await deps.worktrees?.writeDiff(step) : undefined;
  if (noDiff !== undefined) await ledger.note({ type: 'problem', text: noDiff });
  const { tokens, cost } = await spending.last(job);
  const ended = tooLong === undefined ? end : ({ status: 'failed', reason: tooLong } as const);
  await ledger.put(
    { type: 'step-ended', step: step.id, end: ended, tokens: tokens.total, cost },
    ...(await unread(owned, step)),
  );
}
