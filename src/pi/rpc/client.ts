/** The client of `pi --mode rpc`: wires lines, requests, turns and dialogs to one process. */
import { once } from 'node:events';
import type { Clock } from '../../lib/clock.ts';
import type { OperationError } from '../../lib/errors.ts';
import { type JsonLine, jsonLineReader } from '../../lib/json-line-reader.ts';
import { type DialogHandler, openDialogs, type PiDialog } from './dialogs.ts';
import { asError, PiEndedError, PiGarbageError, PiLineTooLongError } from './errors.ts';
import { type PiEvent, parsePiEvent } from './events.ts';
import type { PiExit } from './exit.ts';
import { RPC_LIMITS, type RpcLimits } from './limits.ts';
import { type PiProcess, stopProcess } from './process.ts';
import { openPrompting, type Receipt, type Turn } from './prompting.ts';
import { openRequests, type PiImage } from './requests.ts';
import { type PiQueue, type PiState, type PiStats, parseAnswer } from './responses.ts';
import { type Tail, tailOf } from './stderr-tail.ts';
import { within } from './within.ts';

export interface PiRpcOptions {
  clock: Clock;
  /** Ids of requests: each differs from all others of this client, and needs no escaping in JSON. */
  ids: () => string;
  /**
   * Handed every event in order. pi is read on only when it has resolved, so that a slow receiver slows pi down; it
   * must not wait for a request of the same client. One that throws ends the client.
   */
  onEvent?: (event: PiEvent) => void | Promise<void>;
  /** Without it every dialog is answered `cancelled` (J5). */
  onDialog?: DialogHandler;
  limits?: Partial<RpcLimits>;
}

export interface PiEnd {
  exit: PiExit;
  /** What ended the client: a PiEndedError, or what went wrong before. */
  error: Error;
}

export interface PiRpc {
  readonly pid: number;
  /** Waits for pi's first answer; what it says of its Session. @throws PiSilentError, PiEndedError */
  ready(): Promise<PiState>;
  /** @throws PiBusyError while an earlier one has not ended */
  prompt(message: string, images?: readonly PiImage[]): Turn;
  /** Puts a text in after the current tool. */
  steer(message: string): Promise<Receipt>;
  /** Puts a text in when the turn would end. */
  followUp(message: string): Promise<Receipt>;
  /**
   * Stops the turn, which then ends as `aborted`; open dialogs are cancelled. What is queued stays queued.
   *
   * @throws PiSilentError when pi is not idle within the bound; the client stays usable
   */
  abort(): Promise<void>;
  /** Takes back what is queued. */
  clearQueue(): Promise<PiQueue>;
  state(): Promise<PiState>;
  stats(): Promise<PiStats>;
  /** Dialogs that wait for their handler. */
  dialogs(): PiDialog[];
  /** What pi wrote to standard error, and how much of it is gone. */
  readonly stderr: Tail;
  /** SIGTERM, and after a while SIGKILL (J4). What pi's tools left behind is the caller's. @throws PiSurvivesError */
  stop(): Promise<PiExit>;
  /** Resolves when pi is gone and all that it wrote has been handed on. */
  readonly ended: Promise<PiEnd>;
}

/** Speaks with a pi that was started with `--mode rpc`. Its input stays open until it ends. */
export function openPiRpc(process: PiProcess, options: PiRpcOptions): PiRpc {
  const { clock, ids, onEvent, onDialog } = options;
  const limits: RpcLimits = { ...RPC_LIMITS, ...options.limits };
  const stderr = tailOf(process.stderr, limits.stderrBytes);
  const send = lineWriter(process);
  let failure: Error | undefined;
  let heard = clock.monotonic();
  let holding = 0;
  let garbage = 0;
  let stopping: Promise<PiExit> | undefined;

  const report = (error: OperationError): void => void deliver({ type: 'problem', error });
  const held = (): boolean => holding > 0;
  const requests = openRequests({ send, ids, clock, held });
  const prompting = openPrompting({ requests, clock, limits, heard: () => heard, fail });
  const dialogs = openDialogs({
    send,
    clock,
    handler: onDialog,
    most: limits.openDialogs,
    onProblem: report,
  });

  /** The first failure is the one that everything else hears of. */
  function fail(error: Error): void {
    if (failure) return;
    failure = error;
    requests.fail(error);
    prompting.fail(error);
    dialogs.withdrawAll();
    stop().catch(() => {});
  }

  /** Once: at a second SIGTERM pi drops what it is clearing up. */
  function stop(): Promise<PiExit> {
    stopping ??= stopProcess(process, clock, limits.graceMs);
    return stopping;
  }

  async function deliver(event: PiEvent): Promise<void> {
    if (failure) return;
    holding++;
    try {
      await onEvent?.(event);
    } catch (error) {
      fail(asError(error));
    } finally {
      holding--;
    }
  }

  async function refuse(error: OperationError): Promise<void> {
    await deliver({ type: 'problem', error });
    if (error instanceof PiGarbageError && ++garbage > limits.garbageLines) fail(error);
  }

  async function skip({ reason, head }: Extract<JsonLine, { kind: 'problem' }>): Promise<void> {
    if (head === undefined) return refuse(new PiGarbageError(reason));
    const error = new PiLineTooLongError(reason, head);
    if (!requests.lost(head, error)) prompting.missed(head);
    await refuse(error);
  }

  async function take(line: JsonLine): Promise<void> {
    if (failure) return;
    if (line.kind === 'problem') return skip(line);
    const answered = requests.take(line.value);
    const event = answered === false ? parsePiEvent(line.value) : undefined;
    if (answered instanceof PiGarbageError) return refuse(answered);
    if (answered === false && !event) return refuse(new PiGarbageError('JSON that is no event'));
    garbage = 0;
    if (!event) return;
    await deliver(event);
    if (event.type === 'extension_ui_request') await dialogs.take(event);
    prompting.see(event);
  }

  async function read(): Promise<void> {
    const reader = jsonLineReader({ maxLineBytes: limits.lineBytes, headBytes: 256 });
    for await (const chunk of process.stdout) {
      heard = clock.monotonic();
      // After a failure what it writes is thrown away, so that it is not kept from ending.
      if (!failure) for (const line of reader.push(chunk)) await take(line);
    }
    for (const line of reader.end()) await take(line);
  }

  async function end(): Promise<PiEnd> {
    const exit = await process.ended;
    await within(clock, limits.drainMs, reading);
    for (const stream of [process.stdin, process.stdout, process.stderr]) stream.destroy();
    const gone = new PiEndedError(exit, stderr.text());
    fail(gone);
    return { exit, error: failure ?? gone };
  }

  const reading = read().catch((error: unknown) => fail(asError(error)));
  const ended = end();
  const quick = { withinMs: limits.answerMs };
  return {
    pid: process.pid,
    ready: () => prompting.state(limits.startMs),
    prompt: (message, images) => {
      if (failure) throw failure;
      return prompting.prompt(message, images);
    },
    steer: (message) => prompting.queue('steer', message),
    followUp: (message) => prompting.queue('follow_up', message),
    async abort() {
      const aborting = requests.call({ type: 'abort' }, { withinMs: limits.abortMs });
      dialogs.cancelUntil(aborting);
      await aborting;
    },
    clearQueue: async () =>
      parseAnswer((known) => known.cleared, await requests.call({ type: 'clear_queue' }, quick)),
    state: () => prompting.state(),
    stats: async () =>
      parseAnswer((known) => known.stats, await requests.call({ type: 'get_session_stats' }, quick)),
    dialogs: () => dialogs.open(),
    stderr,
    async stop() {
      const exit = await stop();
      await ended;
      return exit;
    },
    ended,
  };
}

/** Writes JSON lines; resolves when pi has made room for the next, or is gone. */
function lineWriter({ stdin, ended }: PiProcess): (value: object) => Promise<void> {
  // A pipe that is closed at its other end is no failure of its own: pi's end says what happened.
  stdin.on('error', () => {});
  let room: Promise<unknown> | undefined;
  return async (value) => {
    await room;
    if (!stdin.writable || stdin.write(`${JSON.stringify(value)}\n`)) return;
    const over = new AbortController();
    room = Promise.race([once(stdin, 'drain', { signal: over.signal }), ended]).catch(() => {});
    await room;
    over.abort();
    room = undefined;
  };
}
