/** Ending a turn that is not wanted any more: by an abort first, and by pi's end where that does not help (J6, J10). */
import type { Clock } from '../../lib/clock.ts';
import type { PiRpc, TurnOutcome } from '../../pi/index.ts';
import type { RunEvent } from '../status.ts';
import type { Life } from './life.ts';

/** What can be wanted of a run that goes on. */
export type Wanted = Extract<RunEvent, { type: 'abort-wanted' | 'kill-wanted' | 'time-over' | 'given-up' }>;

export interface Stopping {
  want(event: Wanted): void;
  /** Aborted as soon as anything is wanted: for what is waited for while there is no pi. */
  readonly wanted: AbortSignal;
  /** The pi that runs. */
  readonly client: PiRpc | undefined;
  /** From now on this is what has to be stopped; `before` is called while it still lives. */
  attach(client: PiRpc, before: () => void): void;
  /** A prompt is under way: it can be aborted. */
  working(outcome: Promise<TurnOutcome>): void;
}

export interface StoppingOptions {
  readonly life: Life;
  readonly clock: Clock;
  onFailure(error: unknown): void;
}

/** Between pi's word that it is idle and the end of the turn; they come together. */
const SETTLE_MS = 2_000;

export function openStopping({ life, clock, onFailure }: StoppingOptions): Stopping {
  const wanted = new AbortController();
  let client: PiRpc | undefined;
  let outcome: Promise<TurnOutcome> | undefined;
  let beforeStop = (): void => {};
  let aborting = false;

  function act(pi: PiRpc): void {
    if (!life.state.live || life.state.wish === undefined) return;
    // Before it has taken the prompt there is nothing to abort.
    if (life.state.wish === 'kill' || life.state.status === 'starting' || !outcome) stop(pi);
    else if (!aborting) void abort(pi, outcome);
  }

  async function abort(pi: PiRpc, ending: Promise<TurnOutcome>): Promise<void> {
    aborting = true;
    try {
      await pi.abort();
      await Promise.race([ending, clock.sleep(SETTLE_MS)]);
    } catch {
      // It hangs or is gone.
    }
    if (life.state.live) stop(pi);
  }

  function stop(pi: PiRpc): void {
    beforeStop();
    pi.stop().catch(onFailure);
  }

  return {
    wanted: wanted.signal,
    get client() {
      return client;
    },
    want(event) {
      life.happen(event);
      wanted.abort(new Error('its end is wanted'));
      if (client) act(client);
    },
    attach(pi, before) {
      client = pi;
      beforeStop = before;
      act(pi);
    },
    working(ending) {
      outcome = ending;
    },
  };
}
