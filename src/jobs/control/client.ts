/** Asking a running job (J9): its lock first, its socket then, so that nothing of a dead one is ever spoken to. */
import { createConnection, type Socket } from 'node:net';
import { basename } from 'node:path';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { hasCode, messageOf, OperationError, TimeoutError } from '../../lib/errors.ts';
import { jsonLineReader } from '../../lib/json-line-reader.ts';
import { retryUntil } from '../../lib/retry.ts';
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
import { withSocketPath } from './socket-path.ts';

/** A stop takes 5 s before it is forced, and what it left is looked for after that. */
const ANSWER_MS = 60_000;
/** From a held lock to a socket, also when many start at once. */
const LISTEN_MS = 5_000;

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
export async function askJob(
  place: JobsPlace,
  directory: JobDirectory,
  request: Asked,
  { clock = systemClock, timeoutMs = ANSWER_MS }: AskOptions = {},
): Promise<ControlAnswer> {
  const name = basename(directory);
  await mustRun(directory);
  const end = new AbortController();
  const timeout = clock.sleep(timeoutMs, end.signal).then(
    () => {
      throw new TimeoutError(`job "${name}" has not answered within ${timeoutMs / 1_000} s`, {
        hint: `multi-agent status ${name}`,
      });
    },
    () => new Promise<never>(() => undefined),
  );
  try {
    return await Promise.race([reach(place, directory, request, { clock, signal: end.signal }), timeout]);
  } finally {
    end.abort();
  }
}

async function mustRun(directory: JobDirectory): Promise<void> {
  const status = await readStatus(directory);
  if (!isLive(status)) throw new JobNotRunningError(basename(directory), status);
}

/** A runner that was just started listens in a moment; one that has just ended does no more. */
async function reach(
  place: JobsPlace,
  directory: JobDirectory,
  request: Asked,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<ControlAnswer> {
  let last: unknown;
  const attempt = async (): Promise<ControlAnswer | undefined> => {
    try {
      return await exchange(place, directory, request, signal);
    } catch (error) {
      await mustRun(directory);
      if (error instanceof JobSilentError) throw error;
      if (!hasCode(error, 'ENOENT', 'ECONNREFUSED'))
        throw new JobSilentError(basename(directory), messageOf(error));
      last = error;
      return undefined;
    }
  };
  const answer = await retryUntil(attempt, { deadlineMs: LISTEN_MS, clock, signal });
  if (answer !== undefined) return answer;
  throw new JobSilentError(basename(directory), messageOf(last));
}

async function exchange(
  place: JobsPlace,
  directory: JobDirectory,
  request: Asked,
  signal: AbortSignal,
): Promise<ControlAnswer> {
  const name = basename(directory);
  for await (const value of linesOf(place, directory, request, signal)) {
    const answer = parseControlAnswer(value);
    if (answer === undefined) throw new JobSilentError(name, 'its answer is none');
    return answer;
  }
  throw new JobSilentError(name, 'it closed the connection');
}

/**
 * Follows a running job until its runner lets go of the connection: at the end of the run, or when it dies.
 *
 * @returns false when there was no connection at all
 */
export async function watchJob(
  place: JobsPlace,
  directory: JobDirectory,
  onNotice: (notice: Notice) => void,
  signal: AbortSignal,
): Promise<boolean> {
  let connected = false;
  try {
    for await (const value of linesOf(place, directory, { op: 'watch' }, signal)) {
      const notice = parseNotice(value);
      if (notice !== undefined) onNotice(notice);
      else if (parseControlAnswer(value)?.ok === true) connected = true;
    }
  } catch (error) {
    if (!connected) return false;
    if (!(error instanceof Error)) throw error;
  }
  return connected;
}

/** What comes back for a request, line by line, until the other side ends. */
async function* linesOf(
  place: JobsPlace,
  directory: JobDirectory,
  request: Asked,
  signal: AbortSignal,
): AsyncGenerator<unknown> {
  signal.throwIfAborted();
  const socket = withSocketPath(place, directory, (path) => createConnection(path));
  const stop = (): void => void socket.destroy();
  signal.addEventListener('abort', stop, { once: true });
  try {
    socket.write(`${JSON.stringify({ version: PROTOCOL_VERSION, ...request })}\n`);
    yield* valuesOf(socket);
  } finally {
    signal.removeEventListener('abort', stop);
    socket.destroy();
  }
}

async function* valuesOf(socket: Socket): AsyncGenerator<unknown> {
  const reader = jsonLineReader({ maxLineBytes: MAX_LINE_BYTES });
  for await (const chunk of socket) {
    for (const line of reader.push(chunk)) {
      if (line.kind === 'entry') yield line.value;
      else throw new OperationError(`it sent a line that is ${line.reason}`);
    }
  }
}
