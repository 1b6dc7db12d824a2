/** One prompt in flight, what is put in while it is worked on, and its end. */
import type { Clock } from '../../lib/clock.ts';
import { asError, PiBusyError, PiRefusedError, PiSilentError } from './errors.ts';
import type { PiEvent } from './events.ts';
import type { RpcLimits } from './limits.ts';
import type { PiImage, PiRequest, Requests } from './requests.ts';
import { type PiState, parseAnswer } from './responses.ts';
import { followTurn, refusedOutcome, type TurnFollower, type TurnOutcome } from './turn.ts';

/** `handled`: a slash command or an extension took it. `refused`: the outcome says why. */
export type Acceptance = 'started' | 'queued' | 'handled' | 'refused';

/** One prompt on its way. Both promises reject with the error that ended the client, and with nothing else. */
export interface Turn {
  /** pi's answer. For a slash command that opens a dialog it comes only after the dialog. */
  accepted: Promise<Acceptance>;
  outcome: Promise<TurnOutcome>;
}

/**
 * `queued`: pi delivers it after the current tool (steer) or at the end (follow-up). `handled`: a command took it.
 * `not-running`: not sent, for pi would only keep it. `late`: the turn ended meanwhile; pi keeps it for the next one.
 */
export type Receipt = 'queued' | 'handled' | 'not-running' | 'late';

export interface Prompting {
  prompt(message: string, images?: readonly PiImage[]): Turn;
  queue(type: 'steer' | 'follow_up', message: string): Promise<Receipt>;
  /** A request that pi answers at once; a pi that does not has ended for us. */
  state(withinMs?: number): Promise<PiState>;
  see(event: PiEvent): void;
  /** A line that was skipped for its length. */
  missed(head: string): void;
  fail(error: Error): void;
}

export interface PromptingOptions {
  requests: Requests;
  clock: Clock;
  limits: RpcLimits;
  /** When pi was last heard, by the clock's monotonic time. */
  heard: () => number;
  /** Ends the client. */
  fail(error: Error): void;
}

interface Current {
  follower: TurnFollower;
  accepted: boolean;
  /** Being asked whether it has ended. */
  checking: boolean;
  over: AbortController;
  accepting: Promise<Acceptance>;
  resolve(outcome: TurnOutcome): void;
  reject(error: Error): void;
}

export function openPrompting({ requests, clock, limits, heard, fail }: PromptingOptions): Prompting {
  let current: Current | undefined;

  function prompt(message: string, images?: readonly PiImage[]): Turn {
    if (current) throw new PiBusyError();
    const { promise: outcome, resolve, reject } = Promise.withResolvers<TurnOutcome>();
    const follower = followTurn();
    const over = new AbortController();
    const turn: Current = {
      follower,
      accepted: false,
      checking: false,
      over,
      accepting: Promise.resolve('refused'),
      resolve,
      reject,
    };
    current = turn;
    turn.accepting = accept(turn, { type: 'prompt', message, ...(images && { images }) });
    void watch(turn);
    // Whoever looks at one of them only must not be ended by the other.
    outcome.catch(() => {});
    turn.accepting.catch(() => {});
    return { accepted: turn.accepting, outcome };
  }

  async function accept(turn: Current, request: PiRequest): Promise<Acceptance> {
    try {
      // In the very moment of the answer: the line after it may be the run's first event.
      const onAnswer = (data: unknown): void => {
        turn.accepted = true;
        if (parseAnswer((known) => known.prompt, data).disposition === 'started') turn.follower.started();
      };
      const { disposition } = parseAnswer(
        (known) => known.prompt,
        await requests.call(request, { onAnswer }),
      );
      // A command may have started a run, and may have seen it to its end.
      if (disposition === 'handled') void check(turn);
      return disposition;
    } catch (error) {
      if (error instanceof PiRefusedError) {
        finish(turn, refusedOutcome(error.reason));
        return 'refused';
      }
      fail(asError(error));
      throw error;
    }
  }

  function finish(turn: Current, outcome = turn.follower.outcome()): void {
    if (current === turn) current = undefined;
    turn.over.abort();
    turn.resolve(outcome);
  }

  function see(event: PiEvent): void {
    const turn = current;
    const step = turn?.follower.see(event);
    if (!turn?.accepted || step === 'going') return;
    if (step === 'ended') finish(turn);
    else void check(turn);
  }

  /**
   * pi says that it has settled, or took the prompt for itself, and no answer came. Twice idle outside of a run, with
   * nothing between, and it is believed. A run ends the looking: its end will be told.
   */
  async function check(turn: Current): Promise<void> {
    if (turn.checking) return;
    turn.checking = true;
    try {
      while (!turn.follower.running) {
        const { epoch } = turn.follower;
        const idle = await isIdle();
        await clock.sleep(limits.doubtMs, turn.over.signal);
        const still = idle && (await isIdle());
        if (still && !turn.follower.running && epoch === turn.follower.epoch) return finish(turn);
      }
    } catch {
      // The turn is over, or the client is: both have been told.
    } finally {
      turn.checking = false;
    }
  }

  async function isIdle(): Promise<boolean> {
    const { isStreaming, isCompacting } = await state();
    return !isStreaming && !isCompacting;
  }

  /** A turn may be silent for hours while a tool runs; whether pi lives is then asked (J4). */
  async function watch(turn: Current): Promise<void> {
    try {
      for (;;) {
        await clock.sleep(limits.quietMs, turn.over.signal);
        if (clock.monotonic() - heard() >= limits.quietMs) await state();
      }
    } catch {
      // As above.
    }
  }

  async function state(withinMs = limits.answerMs): Promise<PiState> {
    try {
      return parseAnswer((known) => known.state, await requests.call({ type: 'get_state' }, { withinMs }));
    } catch (error) {
      if (error instanceof PiSilentError) fail(error);
      throw error;
    }
  }

  async function queue(type: 'steer' | 'follow_up', message: string): Promise<Receipt> {
    // Two prompts in flight lose one; what steers comes after the prompt's answer.
    await current?.accepting;
    const turn = current;
    if (!turn && (await isIdle())) return 'not-running';
    const { withinMs, request } = { withinMs: limits.answerMs, request: { type, message } };
    const { disposition } = parseAnswer((known) => known.queue, await requests.call(request, { withinMs }));
    if (disposition === 'queued' && turn && current !== turn) return 'late';
    return disposition;
  }

  return {
    prompt,
    queue,
    state,
    see,
    missed: (head) => current?.follower.missed(head),
    fail(error) {
      current?.over.abort();
      current?.reject(error);
      current = undefined;
    },
  };
}
