/**
 * The life of one run of a job (J3): which event leads from which status to which. Pure; docs/jobs.md prints this table,
 * and a property test drives it.
 */

export const LIVE_STATUSES = ['starting', 'running', 'waiting'] as const;
export const FINAL_STATUSES = ['done', 'failed', 'aborted', 'killed', 'timed-out'] as const;

export type LiveStatus = (typeof LIVE_STATUSES)[number];
/** What a runner writes at the end of a run. */
export type FinalStatus = (typeof FINAL_STATUSES)[number];
/** `died` is never written: it is what a reader finds, a run without an end whose lock nobody holds (J2). */
export type JobStatus = LiveStatus | FinalStatus | 'died';

/** The exit code of a run, in `exit_code` and of `multi-agent run` (J3); `died` has none, and is reported as 70. */
export const EXIT_CODES: Readonly<Record<JobStatus, number>> = {
  starting: 70,
  running: 70,
  waiting: 70,
  done: 0,
  failed: 1,
  'timed-out': 124,
  aborted: 130,
  killed: 137,
  died: 70,
};

export type RunEvent =
  /** pi has taken the prompt. */
  | { readonly type: 'prompted' }
  /** Somebody has to answer a dialog (J5). */
  | { readonly type: 'asked' }
  /** No dialog is open any more. */
  | { readonly type: 'answered' }
  /** Wanted from outside: a stop of the turn, of pi, or by the clock (J6, J10). */
  | { readonly type: 'abort-wanted' }
  | { readonly type: 'kill-wanted' }
  | { readonly type: 'time-over' }
  /** Something makes the run a failure whatever pi says from now on: a budget (J16), a pi that cannot go on. */
  | { readonly type: 'given-up'; readonly reason: string }
  /** pi's turn has ended, as it says itself. */
  | { readonly type: 'settled'; readonly outcome: 'done' | 'failed' | 'aborted'; readonly reason: string }
  /** pi is gone, with everything that it started. */
  | { readonly type: 'gone'; readonly reason: string };

/** What was wanted of a run that goes on; a stronger wish takes the place of a weaker one, never the other way. */
type Wish = 'abort' | 'kill' | 'time' | 'give-up';

export type RunState =
  | {
      readonly live: true;
      readonly status: LiveStatus;
      readonly wish: Wish | undefined;
      readonly why: string;
    }
  | { readonly live: false; readonly status: FinalStatus; readonly reason: string };

/** A run whose lock was just taken. */
export const BEGUN: RunState = { live: true, status: 'starting', wish: undefined, why: '' };

const STRENGTH: Readonly<Record<Wish, number>> = { abort: 1, kill: 2, 'give-up': 3, time: 3 };
const ENDS: Readonly<Record<Wish, FinalStatus>> = {
  abort: 'aborted',
  kill: 'killed',
  time: 'timed-out',
  'give-up': 'failed',
};
const REASONS: Readonly<Record<Wish, string>> = {
  abort: 'it was aborted',
  kill: 'it was killed',
  time: 'its time was over; what it was doing may be half done',
  'give-up': '',
};

/** The state after an event. After a final one nothing changes any more. */
export function advance(state: RunState, event: RunEvent): RunState {
  if (!state.live) return state;
  switch (event.type) {
    case 'prompted':
      return state.status === 'starting' ? { ...state, status: 'running' } : state;
    case 'asked':
      return { ...state, status: 'waiting' };
    case 'answered':
      return state.status === 'waiting' ? { ...state, status: 'running' } : state;
    case 'abort-wanted':
      return wish(state, 'abort', REASONS.abort);
    case 'kill-wanted':
      return wish(state, 'kill', REASONS.kill);
    case 'time-over':
      return wish(state, 'time', REASONS.time);
    case 'given-up':
      return wish(state, 'give-up', event.reason);
    case 'settled':
      return settle(state, event.outcome, event.reason);
    case 'gone':
      return end(
        state.wish === undefined ? 'failed' : ENDS[state.wish],
        state.wish ? state.why : event.reason,
      );
  }
}

type Live = Extract<RunState, { live: true }>;

function wish(state: Live, wanted: Wish, why: string): RunState {
  if (state.wish !== undefined && STRENGTH[state.wish] >= STRENGTH[wanted]) return state;
  return { ...state, wish: wanted, why };
}

/** A turn that ended well before an abort reached it is done all the same; one that had to end is what was wanted. */
function settle(state: Live, outcome: 'done' | 'failed' | 'aborted', reason: string): RunState {
  if (state.wish === undefined) return end(outcome, reason);
  if (state.wish === 'abort' && outcome !== 'aborted') return end(outcome, reason);
  return end(ENDS[state.wish], state.why);
}

function end(status: FinalStatus, reason: string): RunState {
  return { live: false, status, reason };
}

export function isFinal(status: string): status is FinalStatus {
  return FINAL_STATUSES.some((known) => known === status);
}

export function isLive(status: string): status is LiveStatus {
  return LIVE_STATUSES.some((known) => known === status);
}
