/**
 * The failures this product knows (rule 5): each says what failed, on what, and the next step. They are made where
 * the fact is known and printed in one place, `reportError` of the command that runs.
 */

/** 0 ok; 1 failed; 2 wrong usage or configuration; 3 a wait timed out; 128 + n ended by signal n. */
export const EXIT = {
  failed: 1,
  usage: 2,
  timeout: 3,
  hangup: 129,
  interrupt: 130,
  terminated: 143,
} as const;

interface ErrorFacts {
  /** What to do next, as a sentence or a command line. */
  hint?: string | undefined;
  cause?: unknown;
}

/** The base of every failure that is told to the user as one line, never as a stack trace. */
export abstract class PiSandboxError extends Error {
  abstract readonly exitCode: number;
  readonly hint: string | undefined;

  constructor(message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = new.target.name;
    this.hint = facts.hint;
  }
}

/** The operation was understood and failed. */
export class OperationError extends PiSandboxError {
  readonly exitCode: number = EXIT.failed;
}

/** The command line asks for something that is not there or not allowed. */
export class UsageError extends PiSandboxError {
  readonly exitCode: number = EXIT.usage;
}

/** A configuration file or variable is wrong; `where` names the file (and line) or the variable. */
export class ConfigError extends PiSandboxError {
  readonly exitCode: number = EXIT.usage;
  readonly where: string;

  constructor(where: string, message: string, facts: ErrorFacts = {}) {
    super(`${where}: ${message}`, facts);
    this.where = where;
  }
}

/** Something was waited for and did not come in time. */
export class TimeoutError extends PiSandboxError {
  readonly exitCode: number = EXIT.timeout;
}

/** Reaching a stated bound of a read, a queue, a frame or a list (rule 7). */
export class LimitError extends OperationError {}

/** True for Node's own errors with this code (`ENOENT`, `EEXIST`, …). */
export function hasCode(error: unknown, ...codes: string[]): error is NodeJS.ErrnoException {
  return (
    error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code)
  );
}

/** The message of anything that was thrown, in one line. */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s*[\r\n]+\s*/g, ' ').trim();
}
