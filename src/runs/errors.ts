/** What commands on runs can meet: each has a code, which programs get in `{ok:false,error:{code,…}}`. */
import { messageOf, OperationError, PiSandboxError, UsageError } from '../lib/errors.ts';

export const RUN_ERROR_CODES = [
  /** A graph that cannot be run; `details` has every objection. */
  'invalid-graph',
  'invalid-id',
  'not-found',
  'ambiguous',
  /** Mutations of another Session's run (R6). */
  'owned-by-other',
  /** Nobody holds it: take it first. */
  'orphan',
  'run-is-live',
  'run-is-final',
  'step-is-final',
  'schema-version-too-old',
  'schema-version-too-new',
  'damaged',
  /** What `cleanup` does not delete without `--force`. */
  'worktree-dirty',
  /** A bound of docs/runs.md was reached. */
  'limit',
  'timeout',
  'usage',
  'failed',
] as const;
export type RunErrorCode = (typeof RUN_ERROR_CODES)[number];

/** A failure with a code of its own. */
export class RunError extends OperationError {
  readonly code: RunErrorCode;
  /** More about it, for programs: the version found, the files that would be lost, … */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: RunErrorCode,
    message: string,
    { hint, details = {}, cause }: { hint?: string; details?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(message, { hint, cause });
    this.code = code;
    this.details = details;
  }
}

/** A text that no run can be called by. */
export class InvalidRunIdError extends UsageError {
  constructor(given: string) {
    super(`${JSON.stringify(given.slice(0, 100))} is no id of a run, nor the beginning of one`, {
      hint: 'multi-agent runs list shows them, such as 20260131t090000-k3m7qa',
    });
  }
}

/** A graph that nothing was started of: every objection, each with the place it is about (R3, R4). */
export class InvalidGraphError extends UsageError {
  readonly objections: readonly string[];

  constructor(source: string, objections: readonly string[]) {
    const [first = 'it is not valid'] = objections;
    const more = objections.length > 1 ? ` (and ${objections.length - 1} more)` : '';
    super(`${source}: ${first}${more}`, { hint: `multi-agent runs validate ${source} says all of it` });
    this.objections = objections;
  }
}

/** What of a failure a program gets: the same form whatever failed. */
export interface Refusal {
  readonly ok: false;
  readonly error: {
    readonly code: RunErrorCode;
    readonly message: string;
    readonly hint?: string;
    readonly details?: Readonly<Record<string, unknown>>;
  };
}

/** @param hint the error's own, or how its reader would type it */
export function refusalOf(error: unknown, hint: string | undefined = hintOf(error)): Refusal {
  const facts = { ...(hint === undefined ? {} : { hint }), ...detailsOf(error) };
  return { ok: false, error: { code: codeOf(error), message: messageOf(error), ...facts } };
}

function hintOf(error: unknown): string | undefined {
  return error instanceof PiSandboxError ? error.hint : undefined;
}

function codeOf(error: unknown): RunErrorCode {
  if (error instanceof RunError) return error.code;
  if (error instanceof InvalidGraphError) return 'invalid-graph';
  if (error instanceof InvalidRunIdError) return 'invalid-id';
  return error instanceof PiSandboxError && error.exitCode === 2 ? 'usage' : 'failed';
}

function detailsOf(error: unknown): { details?: Record<string, unknown> } {
  if (error instanceof InvalidGraphError) return { details: { objections: error.objections } };
  if (error instanceof RunError && Object.keys(error.details).length > 0)
    return { details: { ...error.details } };
  return {};
}
