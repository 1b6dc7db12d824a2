/** What can go wrong between us and a pi in RPC mode, each with a name (rule 5). */
import { LimitError, messageOf, OperationError, TimeoutError, UsageError } from '../../lib/errors.ts';
import { describeExit, type PiExit } from './exit.ts';

/** The program could not be started at all. */
export class PiStartError extends OperationError {
  constructor(command: string, cwd: string, cause: unknown) {
    const hint = 'check that pi is installed and that the directory is there';
    super(`${command} could not be started in ${cwd}: ${messageOf(cause)}`, { cause, hint });
  }
}

/** pi ended, by itself or because it was stopped; what waited for it waits in vain. */
export class PiEndedError extends OperationError {
  readonly exit: PiExit;
  /** The end of what it wrote to standard error. */
  readonly stderr: string;

  constructor(exit: PiExit, stderr: string) {
    const last = stderr.trimEnd().split('\n').at(-1)?.slice(0, 500) ?? '';
    super(`pi ended (${describeExit(exit)})${last === '' ? '' : `: ${last}`}`);
    this.exit = exit;
    this.stderr = stderr;
  }
}

/** pi lives and does not answer: it hangs, or a receiver of its events holds them back. */
export class PiSilentError extends TimeoutError {
  readonly command: string;

  constructor(command: string, milliseconds: number, held: boolean) {
    const why = held ? '; the receiver of its events holds them back' : '';
    super(`pi has not answered ${command} for ${milliseconds / 1000} s${why}`);
    this.command = command;
  }
}

/** pi understood a request and did not do it. */
export class PiRefusedError extends OperationError {
  readonly command: string;
  /** pi's own words. */
  readonly reason: string;

  constructor(command: string, reason: string) {
    super(`pi refused ${command}: ${reason}`);
    this.command = command;
    this.reason = reason;
  }
}

/** A line was longer than the bound; it was skipped, and what it carried is lost. */
export class PiLineTooLongError extends LimitError {
  /** How the line begins. */
  readonly head: string;

  constructor(reason: string, head: string) {
    super(`pi wrote a line ${reason}; it is skipped`);
    this.head = head;
  }
}

/** pi wrote something that its protocol has no place for. */
export class PiGarbageError extends OperationError {
  constructor(what: string) {
    super(`pi wrote what is not its protocol: ${what}`);
  }
}

/** A dialog's handler failed, or gave an answer of another kind; pi was told that it is cancelled. */
export class PiDialogError extends OperationError {
  constructor(method: string, why: string) {
    super(`a dialog (${method}) was cancelled: ${why}`);
  }
}

/** Neither SIGTERM nor SIGKILL ended the process within their bounds. */
export class PiSurvivesError extends TimeoutError {
  readonly pid: number;

  constructor(pid: number) {
    super(`pi (process ${pid}) did not end after SIGKILL`);
    this.pid = pid;
  }
}

/** A prompt while an earlier one has not ended: two in flight lose one, so the second is not sent. */
export class PiBusyError extends UsageError {
  constructor() {
    super('a prompt is being worked on; steer it, follow it up or wait for its end');
  }
}

/** Whatever was thrown, as an error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new OperationError(messageOf(thrown));
}
