/** Asking a process over its socket of JSON lines (J9, R6): whether it lives says a lock, which the caller looks at. */
import { createConnection, type Socket } from 'node:net';
import type { Clock } from './clock.ts';
import { hasCode, messageOf, OperationError } from './errors.ts';
import { jsonLineReader } from './json-line-reader.ts';
import { retryUntil } from './retry.ts';
import { type SocketPlace, throughSocketPath } from './socket-path.ts';

/** From a held lock to a socket, also when many start at once. */
const LISTEN_MS = 5_000;

export interface LineTarget {
  readonly place: SocketPlace;
  readonly maxLineBytes: number;
}

export interface LineQuestion<Answer> {
  readonly request: object;
  /** Undefined for what is no answer. */
  readonly parse: (value: unknown) => Answer | undefined;
  /** Rejects when nobody is there to be asked. */
  readonly mustLive: () => Promise<void>;
  /** It lives and cannot be spoken with. */
  readonly silent: (reason: string) => Error;
  readonly late: () => Error;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/**
 * One request, and its answer. One that was just started listens in a moment; one that has just ended does no more.
 *
 * @throws what `mustLive`, `silent` and `late` make
 */
export async function askLine<Answer>(target: LineTarget, question: LineQuestion<Answer>): Promise<Answer> {
  const { mustLive, late, timeoutMs, clock } = question;
  await mustLive();
  const end = new AbortController();
  const timeout = clock.sleep(timeoutMs, end.signal).then(
    () => {
      throw late();
    },
    () => new Promise<never>(() => undefined),
  );
  try {
    return await Promise.race([reach(target, question, end.signal), timeout]);
  } finally {
    end.abort();
  }
}

async function reach<Answer>(
  target: LineTarget,
  question: LineQuestion<Answer>,
  signal: AbortSignal,
): Promise<Answer> {
  const { mustLive, silent, clock } = question;
  let last: unknown;
  const attempt = async (): Promise<{ answer: Answer } | undefined> => {
    let said: Said<Answer>;
    try {
      said = await exchange(target, question, signal);
    } catch (error) {
      await mustLive();
      if (!hasCode(error, 'ENOENT', 'ECONNREFUSED')) throw silent(messageOf(error));
      last = error;
      return undefined;
    }
    if ('answer' in said) return said;
    await mustLive();
    throw silent(said.silent);
  };
  const found = await retryUntil(attempt, { deadlineMs: LISTEN_MS, clock, signal });
  if (found !== undefined) return found.answer;
  throw silent(messageOf(last));
}

type Said<Answer> = { readonly answer: Answer } | { readonly silent: string };

async function exchange<Answer>(
  target: LineTarget,
  { request, parse }: LineQuestion<Answer>,
  signal: AbortSignal,
): Promise<Said<Answer>> {
  for await (const value of linesOf(target, request, signal)) {
    const answer = parse(value);
    return answer === undefined ? { silent: 'its answer is none' } : { answer };
  }
  return { silent: 'it closed the connection' };
}

/**
 * Follows one that lives until it lets go of the connection: at its end, or when it dies.
 *
 * @param onValue says of each line whether it was the answer that accepts the watching
 * @returns false when there was no connection at all
 */
export async function watchLines(
  target: LineTarget,
  request: object,
  onValue: (value: unknown) => boolean,
  signal: AbortSignal,
): Promise<boolean> {
  let connected = false;
  try {
    for await (const value of linesOf(target, request, signal)) {
      if (onValue(value)) connected = true;
    }
  } catch (error) {
    if (!connected) return false;
    if (!(error instanceof Error)) throw error;
  }
  return connected;
}

/** What comes back for a request, line by line, until the other side ends. */
async function* linesOf(
  { place, maxLineBytes }: LineTarget,
  request: object,
  signal: AbortSignal,
): AsyncGenerator<unknown> {
  signal.throwIfAborted();
  const socket = throughSocketPath(place, (path) => createConnection(path));
  const stop = (): void => void socket.destroy();
  signal.addEventListener('abort', stop, { once: true });
  try {
    socket.write(`${JSON.stringify(request)}\n`);
    yield* valuesOf(socket, maxLineBytes);
  } finally {
    signal.removeEventListener('abort', stop);
    socket.destroy();
  }
}

async function* valuesOf(socket: Socket, maxLineBytes: number): AsyncGenerator<unknown> {
  const reader = jsonLineReader({ maxLineBytes });
  for await (const chunk of socket) {
    for (const line of reader.push(chunk)) {
      if (line.kind === 'entry') yield line.value;
      else throw new OperationError(`it sent a line that is ${line.reason}`);
    }
  }
}
