/** What commands on jobs can meet, as people are told of it (rule 5). */
import { OperationError, UsageError } from '../lib/errors.ts';
import type { LockRecord } from '../lib/lock-record.ts';

/** No job of this name belongs to this project. */
export class JobNotFoundError extends OperationError {
  readonly job: string;

  constructor(job: string, project: string, hint = 'multi-agent list shows what there is') {
    super(`there is no job "${job.slice(0, 100)}" in ${project}`, { hint });
    this.job = job;
  }
}

/** `job.json` cannot be read, or is a newer version's: the job is listed and left as it is. */
export class BrokenJobError extends OperationError {
  readonly job: string;

  constructor(job: string, reason: string) {
    super(`job "${job}" cannot be used: ${reason}`, { hint: 'its files are left as they are' });
    this.job = job;
  }
}

/** A name that was asked for is another job's. */
export class JobNameTakenError extends OperationError {
  readonly job: string;

  constructor(job: string) {
    super(`there is a job "${job}" already`, {
      hint: `multi-agent resume ${job} goes on with it, multi-agent rm ${job} removes it; without --name a free name is found`,
    });
    this.job = job;
  }
}

/** What was asked for needs a job that does not run. */
export class JobRunningError extends OperationError {
  readonly job: string;

  constructor(job: string, wanted: string, holder?: LockRecord) {
    const who = holder ? ` (process ${holder.pid} on ${holder.host}, since ${holder.startedAt})` : '';
    super(`job "${job}" is running${who}, so it cannot be ${wanted}`, {
      hint: `multi-agent wait ${job} waits for its end; steer and follow-up reach it now, abort and kill end it`,
    });
    this.job = job;
  }
}

/** What was asked for needs a job that runs (J9): nothing was sent to anybody. */
export class JobNotRunningError extends OperationError {
  readonly job: string;

  constructor(job: string, status: string) {
    super(`job "${job}" is not running: it ${status === 'died' ? 'has died' : `is ${status}`}`, {
      hint: `multi-agent resume ${job} "…" starts its next run`,
    });
    this.job = job;
  }
}

/** An agent as deep as agents may be wanted to start another one (J8). */
export class DepthLimitError extends UsageError {
  constructor(depth: number, limit: number) {
    super(
      `this agent is at depth ${depth} of at most ${limit}, where none starts another one (MULTI_AGENT_MAX_DEPTH, or max-depth of a profile above it)`,
      { hint: 'do the work here, or say in the result what is left to be done' },
    );
  }
}

/** The conversation is open in a pi that is not the job's to end (H3). */
export class ConversationOpenError extends OperationError {
  constructor(job: string, holder: LockRecord | undefined) {
    const who = holder
      ? ` by process ${holder.pid} on ${holder.host} since ${holder.startedAt}`
      : ' by another pi';
    super(`the conversation of job "${job}" is held${who}`, { hint: 'end that pi, then try again' });
  }
}

/** A job is kept as long as one that it started is running (J14). */
export class ChildRunningError extends OperationError {
  constructor(job: string, child: string) {
    super(`job "${job}" has a job below it that is running: "${child}"`, {
      hint: `multi-agent wait ${child}, or multi-agent kill ${job} --tree`,
    });
  }
}
