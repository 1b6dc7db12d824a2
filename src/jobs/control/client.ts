/** Asking a running job (J9): its lock first, its socket then, so that nothing of a dead one is ever spoken to. */
import { basename } from 'node:path';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { OperationError, TimeoutError } from '../../lib/errors.ts';
import { askLine, type LineTarget, watchLines } from '../../lib/line-client.ts';
import { JobNotRunningError } from '../errors.ts';
import type { JobDirectory, JobsPlace } from '../places.ts';
import { isLive } from '../status.ts';
import { readStatus } from '../view.ts';
import {
  type ControlAnswer,
  type ControlRequest,
  MAX_LINE_BYTES,
  type Notice,
  PROTOCOL_VERSION,
  parseControlAnswer,
  parseNotice,
} from './protocol.ts';
import { jobSocket } from './socket-path.ts';

/** A stop takes 5 s before it is forced, and what it left is looked for after that. */
const ANSWER_MS = 60_000;

/** A request, as callers write it. */
export type Asked = ControlRequest extends infer R ? (R extends unknown ? Omit<R, 'version'> : never) : never;

/** The runner is there and cannot be spoken with. */
export class JobSilentError extends OperationError {
  constructor(job: string, reason: string) {
    super(`job "${job}" is running and does not answer: ${reason}`, {
      hint: 'it may be just starting or ending: try again',
    });
  }
}

export interface AskOptions {
  readonly clock?: Clock;
  readonly timeoutMs?: number;
}

/**
 * One request to a running job, and its answer.
 *
 * @throws JobNotRunningError when nothing runs (nothing was sent then), JobSilentError, TimeoutError
 */
export function askJob(
  place: JobsPlace,
  directory: JobDirectory,
  request: Asked,
  { clock = systemClock, timeoutMs = ANSWER_MS }: AskOptions = {},
): Promise<ControlAnswer> {
  const name = basename(directory);
  return askLine(target(place, directory), {
    request: { version: PROTOCOL_VERSION, ...request },
    parse: parseControlAnswer,
    mustLive: () => mustRun(directory),
    silent: (reason) => new JobSilentError(name, reason),
    late: () =>
      new TimeoutError(`job "${name}" has not answered within ${timeoutMs / 1_000} s`, {
        hint: `multi-agent status ${name}`,
      }),
    timeoutMs,
    clock,
  });
}

async function mustRun(directory: JobDirectory): Promise<void> {
  const status = await readStatus(directory);
  if (!isLive(status)) throw new JobNotRunningError(basename(directory), status);
}

function target(place: JobsPlace, directory: JobDirectory): LineTarget {
  return { place: jobSocket(place, directory), maxLineBytes: MAX_LINE_BYTES };
}

/**
 * Follows a running job until its runner lets go of the connection: at the end of the run, or when it dies.
 *
 * @returns false when there was no connection at all
 */
export function watchJob(
  place: JobsPlace,
  directory: JobDirectory,
  onNotice: (notice: Notice) => void,
  signal: AbortSignal,
): Promise<boolean> {
  const onValue = (value: unknown): boolean => {
    const notice = parseNotice(value);
    if (notice === undefined) return parseControlAnswer(value)?.ok === true;
    onNotice(notice);
    return false;
  };
  return watchLines(target(place, directory), { version: PROTOCOL_VERSION, op: 'watch' }, onValue, signal);
}
