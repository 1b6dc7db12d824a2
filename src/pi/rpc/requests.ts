/** Requests with ids, and the answers that come back for them, each within a bound. */
import type { Clock } from '../../lib/clock.ts';
import { PiGarbageError, PiRefusedError, PiSilentError } from './errors.ts';
import { type PiResponse, parseResponse } from './responses.ts';

/** The requests that we make. None of them writes pi's global settings, as some of its setters do (J4). */
export type PiRequest =
  | { type: 'prompt'; message: string; images?: readonly PiImage[] }
  | { type: 'steer' | 'follow_up'; message: string }
  | { type: 'abort' | 'clear_queue' | 'get_state' | 'get_session_stats' };

export interface PiImage {
  type: 'image';
  /** Base64. */
  data: string;
  mimeType: string;
}

export interface Requests {
  /**
   * Sends a request; its answer's data.
   *
   * @throws PiRefusedError, PiSilentError, and whatever ends the client
   */
  call(request: PiRequest, options?: CallOptions): Promise<unknown>;
  /**
   * True for a value that was the answer to a request, false for one that is no answer. An answer that nobody waits
   * for, or that cannot be read, is given back as what it is.
   */
  take(value: unknown): boolean | PiGarbageError;
  /** The request whose answer was lost in a line that begins so; false when it is no answer's beginning. */
  lost(head: string, error: Error): boolean;
  /** Ends everything that waits, and all that comes. */
  fail(error: Error): void;
}

export interface CallOptions {
  /** Milliseconds; without it the answer may take as long as it takes. */
  withinMs?: number;
  /** Handed the data at once, before the line after the answer is looked at. */
  onAnswer?(data: unknown): void;
}

interface Waiting {
  command: string;
  resolve(data: unknown): void;
  reject(error: Error): void;
}

export interface RequestsOptions {
  /** Writes one line; resolves when there is room for the next. */
  send(value: object): Promise<void>;
  ids: () => string;
  clock: Clock;
  /** True while a receiver holds back what pi has written. */
  held: () => boolean;
}

export function openRequests({ send, ids, clock, held }: RequestsOptions): Requests {
  const waiting = new Map<string, Waiting>();
  let failure: Error | undefined;

  async function call(request: PiRequest, { withinMs, onAnswer }: CallOptions = {}): Promise<unknown> {
    if (failure) throw failure;
    const id = ids();
    const answered = new AbortController();
    const answer = new Promise<unknown>((resolve, reject) => {
      const settle = (data: unknown): void => {
        try {
          onAnswer?.(data);
          resolve(data);
        } catch (error) {
          reject(error);
        }
      };
      waiting.set(id, { command: request.type, resolve: settle, reject });
    });
    answer.catch(() => {});
    if (withinMs !== undefined) void expire(id, withinMs, answered.signal);
    try {
      // What cannot be written is answered all the same: by the bound, or by pi's end.
      await Promise.race([answer, send({ ...request, id })]);
      return await answer;
    } finally {
      answered.abort();
      waiting.delete(id);
    }
  }

  async function expire(id: string, milliseconds: number, answered: AbortSignal): Promise<void> {
    await clock.sleep(milliseconds, answered).catch(() => {});
    const late = waiting.get(id);
    if (late && !answered.aborted) late.reject(new PiSilentError(late.command, milliseconds, held()));
  }

  function take(value: unknown): boolean | PiGarbageError {
    if (typeof value !== 'object' || value === null || !('type' in value)) return false;
    if (value.type !== 'response') return false;
    const response = parseResponse(value);
    return response ? settle(response) : new PiGarbageError('a response of a form that is not known');
  }

  function settle({ id, command, success, error, data }: PiResponse): true | PiGarbageError {
    const request = id === undefined ? undefined : waiting.get(id);
    if (!request) {
      const why = error === undefined ? '' : `: ${error}`;
      return new PiGarbageError(`an answer that nobody waits for (${command}${why})`);
    }
    if (success) request.resolve(data);
    else request.reject(new PiRefusedError(request.command, error ?? 'it gave no reason'));
    return true;
  }

  return {
    call,
    take,
    lost(head, error) {
      const id = /^\{"id":"([^"\\]*)","type":"response"/.exec(head)?.[1];
      if (id === undefined) return false;
      waiting.get(id)?.reject(error);
      return true;
    },
    fail(error) {
      failure ??= error;
      for (const { reject } of waiting.values()) reject(error);
    },
  };
}
