import { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { hasCode, LimitError } from '../lib/errors.ts';
import { addressOf, type Endpoint } from './endpoint.ts';
import { connectionError, ENGINE_ANSWER_MS, EngineConnectionError, EngineError } from './errors.ts';
import { type EngineRequest, openModem } from './modem.ts';

/** The largest answer that is read whole (a listing of thousands of containers is a few MB). */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
/** How long an ordinary call may take on a busy engine; waits and builds have none. */
const CALL_MS = 60_000;

export type EngineKind = 'docker' | 'podman';

export interface EngineAnswer {
  status: number;
  /** The parsed JSON, the text where it is none, undefined where there is nothing. */
  json: unknown;
  /** The engine's own words on a failure. */
  message: string;
}

/** The doorway: everything said to an engine goes through here, and through dockerode's modem. */
export interface Transport {
  readonly address: string;
  /** The socket is on this machine, so that this machine's limits and paths are the engine's. */
  readonly local: boolean;
  call(request: EngineRequest): Promise<EngineAnswer>;
  /** As `call`, for what takes its time: resolves when the engine has begun to answer, so that it is at it. */
  begin(request: EngineRequest): Promise<{ answer: Promise<EngineAnswer> }>;
  /** The answer as a stream, whatever its status. */
  open(request: EngineRequest): Promise<IncomingMessage>;
  /** Turns the connection into a raw two-way stream (attach, exec). */
  upgrade(request: EngineRequest): Promise<Duplex>;
  /** Learned from any answer's `Server` header, asked only when there was none yet. */
  kind(): Promise<EngineKind>;
  /** The error of an answer that means failure. */
  failure(what: string, answer: EngineAnswer): EngineError;
  close(): void;
}

/** Escapes what came from outside for use as one part of a path. */
export function pathOf(strings: TemplateStringsArray, ...parts: string[]): string {
  return String.raw({ raw: strings }, ...parts.map(encodeURIComponent));
}

/**
 * Prepares to talk to an engine; connects with the first call.
 * @param foundBy the strategy that found the endpoint, for messages
 * @param answerMs how long the engine may say nothing at all
 */
export async function createTransport(
  endpoint: Endpoint,
  foundBy: string,
  answerMs = ENGINE_ANSWER_MS,
): Promise<Transport> {
  const address = addressOf(endpoint);
  const door = await openModem(endpoint);
  let kind: EngineKind | undefined;
  /** That it says nothing was found out, by whichever call: all others are over with it. */
  let mute: EngineConnectionError | undefined;

  /** Rejects when the engine has said nothing at all in time: a socket can accept although its daemon hangs. */
  async function answering<T>(first: Promise<T>): Promise<T> {
    if (kind !== undefined) return first;
    // A long call is no silence: a ping on the side tells them apart.
    const askAnyway = () => void dial({ method: 'GET', path: '/_ping' }).then(drop, () => {});
    const ping = setTimeout(askAnyway, answerMs / 2);
    let timer: NodeJS.Timeout | undefined;
    const silence = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        if (kind !== undefined) return;
        mute ??= silent(address, foundBy, answerMs);
        reject(mute);
        door.close();
      }, answerMs);
    });
    return Promise.race([first, silence]).finally(() => {
      clearTimeout(ping);
      clearTimeout(timer);
    });
  }

  async function dial(request: EngineRequest, hijack = false): Promise<IncomingMessage | Duplex> {
    const result = await door.dial(request, hijack).catch((error: unknown) => {
      throw connectionError(address, foundBy, error);
    });
    kind ??= kindOf(result);
    return result;
  }

  async function open(request: EngineRequest): Promise<IncomingMessage> {
    const limited = withDeadline(request);
    const result = await answering(dial(limited)).catch((error: unknown) => {
      // Its connection was ended by us: another one would be as mute, and be waited for in vain.
      if (mute !== undefined) throw mute;
      if (request.method === 'GET' && staleConnection(error)) return dial(limited);
      throw limited.signal?.aborted && !request.signal?.aborted ? tooSlow(address, request) : error;
    });
    if (result instanceof IncomingMessage) return result;
    result.destroy();
    throw new EngineConnectionError(address, `engine ${address}: unexpected upgrade of ${request.path}`);
  }

  const transport: Transport = {
    address,
    local: endpoint.kind === 'unix',
    open,
    call: async (request) => (await transport.begin(request)).answer,
    async begin(request) {
      const response = await open(request);
      const answer = textOf(response).then((text) => answerOf(response.statusCode ?? 0, text));
      answer.catch(() => undefined);
      return { answer };
    },
    async upgrade(request) {
      // Until the connection is a stream, and no longer: what comes over it may take as long as it likes.
      const { timeoutMs = CALL_MS } = request;
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), timeoutMs);
      const result = await answering(dial({ ...request, signal: late.signal }, true))
        .catch((error: unknown) => {
          throw late.signal.aborted ? tooSlow(address, request) : error;
        })
        .finally(() => clearTimeout(timer));
      if (!(result instanceof IncomingMessage)) return result;
      const answer = answerOf(result.statusCode ?? 0, await textOf(result));
      throw transport.failure(request.path, answer);
    },
    async kind() {
      if (kind === undefined) await transport.call({ method: 'GET', path: '/_ping' });
      return kind ?? 'docker';
    },
    failure: (what, { status, message }) =>
      new EngineError(address, `${what}: ${message || `the engine answered ${status}`}`, { status }),
    close: door.close,
  };
  return transport;
}

function withDeadline(request: EngineRequest): EngineRequest {
  const { timeoutMs = CALL_MS, signal } = request;
  if (timeoutMs === Number.POSITIVE_INFINITY) return request;
  const deadline = AbortSignal.timeout(timeoutMs);
  return { ...request, signal: signal ? AbortSignal.any([signal, deadline]) : deadline };
}

function kindOf(result: IncomingMessage | Duplex): EngineKind | undefined {
  if (!(result instanceof IncomingMessage)) return undefined;
  return /libpod/i.test(String(result.headers.server)) ? 'podman' : 'docker';
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES)
      throw new LimitError(`the engine's answer is larger than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function answerOf(status: number, text: string): EngineAnswer {
  let json: unknown = text === '' ? undefined : text;
  try {
    json = text === '' ? undefined : JSON.parse(text);
  } catch {
    // Plain text, as `_ping` and some failures answer.
  }
  return { status, json, message: messageIn(json) };
}

function messageIn(json: unknown): string {
  if (typeof json === 'string') return json.trim();
  if (typeof json !== 'object' || json === null) return '';
  if ('message' in json && typeof json.message === 'string') return json.message;
  return 'cause' in json && typeof json.cause === 'string' ? json.cause : '';
}

/** A kept connection that the engine closed at the moment it was used again. */
function staleConnection(error: unknown): boolean {
  return error instanceof EngineConnectionError && hasCode(error.cause, 'ECONNRESET', 'EPIPE');
}

function drop(result: IncomingMessage | Duplex) {
  result.destroy();
}

function silent(address: string, foundBy: string, answerMs: number): EngineConnectionError {
  return new EngineConnectionError(
    address,
    `engine (${foundBy}): ${address} accepts connections but did not answer within ${answerMs / 1000} s`,
    { hint: 'restart the engine, or name another with --engine' },
  );
}

function tooSlow(address: string, request: EngineRequest): EngineConnectionError {
  const seconds = (request.timeoutMs ?? CALL_MS) / 1000;
  return new EngineConnectionError(
    address,
    `engine ${address}: ${request.path} took longer than ${seconds} s`,
  );
}
