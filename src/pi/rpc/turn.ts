/**
 * From events to the end of one turn (J4). A turn is everything that pi does for one prompt: retries, compactions and
 * queued messages included. Its only end is `agent_settled` outside of a run, with an assistant's message behind it.
 */
import { type PiEvent, type PiMessage, textOfMessage } from './events.ts';
import type { PiQueue } from './responses.ts';

/** Why a turn failed. */
export type FailureCause =
  /** The model's provider answered with an error, after all retries. */
  | 'provider'
  /** The answer was cut at the model's bound. */
  | 'length'
  /** No assistant message came since the prompt. */
  | 'no-message'
  /** pi did not take the prompt. */
  | 'refused'
  /** The last message ended in a way that is no end. */
  | 'unfinished'
  /** The last message was in a line that is longer than the bound. */
  | 'too-long';

interface Ended {
  /** All text of the last assistant message; may be empty. */
  text: string;
  message: PiMessage | undefined;
  /** What was queued and not delivered: pi would put it into the next turn. */
  unsent: PiQueue;
}

/** How a turn ended. */
export type TurnOutcome =
  | (Ended & { kind: 'done' })
  | (Ended & { kind: 'failed'; cause: FailureCause; reason: string })
  | (Ended & { kind: 'aborted' });

/**
 * `ended`: this was the end. `unsure`: pi says so, and what came before does not bear it out; whoever follows has to
 * ask pi.
 */
export type TurnStep = 'going' | 'ended' | 'unsure';

export interface TurnFollower {
  /** pi has taken the prompt: what came before belongs to something else. */
  started(): void;
  see(event: PiEvent): TurnStep;
  /** A line that was skipped for its length, by its beginning. */
  missed(head: string): void;
  /** Inside of a run; `get_state` may say otherwise, for an early `agent_settled` makes pi itself believe that it is idle. */
  readonly running: boolean;
  /** Changes with each beginning and end that pi tells. */
  readonly epoch: number;
  /** How the turn ended, if this is its end. */
  outcome(): TurnOutcome;
}

export function followTurn(): TurnFollower {
  /** Between `agent_start` and `agent_end`. */
  let running = false;
  /** pi has said that another run follows. */
  let retrying = false;
  let aborted = false;
  let epoch = 0;
  let last: PiMessage | 'too-long' | undefined;
  let unsent: PiQueue = { steering: [], followUp: [] };

  function settled(): TurnStep {
    epoch++;
    // Two messages sent at once by extensions: pi reports the lost one as settled while the other one runs.
    if (running) return 'going';
    return (last !== undefined && !retrying) || aborted ? 'ended' : 'unsure';
  }

  function see(event: PiEvent): TurnStep {
    switch (event.type) {
      case 'agent_start':
        epoch++;
        running = true;
        retrying = false;
        aborted = false;
        return 'going';
      case 'agent_end':
        running = false;
        retrying = event.willRetry;
        return 'going';
      case 'auto_retry_end':
        retrying = false;
        return 'going';
      case 'compaction_end':
        retrying = event.willRetry;
        return 'going';
      case 'message_end':
        if (event.message.role === 'assistant') last = event.message;
        return 'going';
      case 'queue_update':
        unsent = { steering: event.steering, followUp: event.followUp };
        return 'going';
      case 'agent_settled':
        aborted = event.aborted;
        return settled();
      default:
        return 'going';
    }
  }

  return {
    started() {
      running = false;
      retrying = false;
      aborted = false;
      last = undefined;
    },
    see,
    missed(head) {
      if (head.startsWith('{"type":"agent_end"')) running = false;
      if (/^\{"type":"message_end","message":\{"role":"assistant"/.test(head)) last = 'too-long';
    },
    get running() {
      return running;
    },
    get epoch() {
      return epoch;
    },
    outcome() {
      const message = last === 'too-long' ? undefined : last;
      const ended = { text: message ? textOfMessage(message) : '', message, unsent };
      if (aborted || message?.stopReason === 'aborted') return { kind: 'aborted', ...ended };
      const failure = last === 'too-long' ? TOO_LONG : failureOf(message);
      return failure ? { kind: 'failed', ...failure, ...ended } : { kind: 'done', ...ended };
    },
  };
}

interface Failure {
  cause: FailureCause;
  reason: string;
}

const TOO_LONG: Failure = { cause: 'too-long', reason: 'the last message is longer than a line may be' };

function failureOf(message: PiMessage | undefined): Failure | undefined {
  if (!message) return { cause: 'no-message', reason: 'pi settled without an answer of the model' };
  switch (message.stopReason) {
    case 'stop':
    // A tool may end the run after its call.
    case 'toolUse':
      return undefined;
    case 'error':
      return { cause: 'provider', reason: message.errorMessage ?? 'the provider gave no reason' };
    case 'length':
      return { cause: 'length', reason: 'the answer was cut at the bound of the model' };
    default:
      return { cause: 'unfinished', reason: `the last message ended as ${message.stopReason ?? 'nothing'}` };
  }
}

/** The outcome of a prompt that pi did not take. */
export function refusedOutcome(reason: string): TurnOutcome {
  const unsent = { steering: [], followUp: [] };
  return { kind: 'failed', cause: 'refused', reason, text: '', message: undefined, unsent };
}
