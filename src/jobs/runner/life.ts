/** The state of one run, and who wants to hear of it (J3). */
import { advance, BEGUN, type FinalStatus, type RunEvent, type RunState } from '../status.ts';

export interface RunEnd {
  readonly status: FinalStatus;
  readonly reason: string;
}

export interface Life {
  readonly state: RunState;
  happen(event: RunEvent): void;
}

/** What is told of a run beside its state; changes as the run goes on. */
export interface RunView {
  /** In the queue for a slot; 1 is the next. */
  position: number | undefined;
  /** Of the latest message. */
  model: string | undefined;
}

export function openLife(onChange: (state: RunState) => void): Life {
  let state = BEGUN;
  return {
    get state() {
      return state;
    },
    happen(event) {
      const before = state;
      state = advance(state, event);
      if (state !== before) onChange(state);
    },
  };
}
