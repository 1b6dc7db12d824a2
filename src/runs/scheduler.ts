/**
 * The order of steps (R3): which event leads a run where, and what is to be done next. Pure: time, files and jobs are its
 * caller's. docs/runs.md prints the tables, and a property test drives it through random orders.
 */
import type { JobStatus } from '../jobs/index.ts';
import type { Graph, Step } from './graph/graph.ts';
import type { StepId } from './ids.ts';
import { SCHEMA_VERSION } from './manifest.ts';
import {
  isFinalRun,
  isFinalStep,
  REASON_CHARACTERS,
  type RunState,
  type RunStatus,
  type StepState,
  type StepStatus,
} from './status-file.ts';

/** What has become of a step's job. */
export interface JobEnd {
  readonly status: Exclude<JobStatus, 'starting' | 'running' | 'waiting'>;
  readonly reason: string | null;
}

export type RunInput =
  /** The owner has begun. */
  | { readonly type: 'begun' }
  /** About to be made: an attempt begins. */
  | { readonly type: 'step-started'; readonly step: StepId; readonly job: string }
  | {
      readonly type: 'step-ended';
      readonly step: StepId;
      readonly end: JobEnd;
      readonly tokens: number;
      readonly cost: number;
    }
  /** It could not even begin, or its end could not be kept: the step has failed. */
  | { readonly type: 'step-refused'; readonly step: StepId; readonly reason: string }
  | { readonly type: 'message'; readonly step: StepId }
  /** Of everything, or of one step. */
  | { readonly type: 'cancel'; readonly step?: StepId; readonly reason: string }
  /** Time or budget is spent: what runs is ended, what has not begun never will. */
  | { readonly type: 'give-up'; readonly reason: string }
  /** Nobody has cared for it for a day (R9). */
  | { readonly type: 'expire'; readonly reason: string };

export function newRunState(runId: string, graph: Graph, now: Date): RunState {
  return {
    schemaVersion: SCHEMA_VERSION,
    runId,
    status: 'queued',
    updatedAt: now.toISOString(),
    terminal: false,
    terminalAt: null,
    reason: null,
    steps: Object.fromEntries(graph.steps.map(({ id }) => [id, NEW_STEP])),
  };
}

const NEW_STEP: StepState = {
  status: 'pending',
  job: null,
  attempts: 0,
  startedAt: null,
  endedAt: null,
  reason: null,
  cancelWanted: false,
  messages: 0,
  tokens: 0,
  cost: 0,
};

/** The run after an event. A final run never changes, nor a final step. */
export function advanceRun(state: RunState, graph: Graph, input: RunInput, now: Date): RunState {
  if (isFinalRun(state.status)) return state;
  const at = now.toISOString();
  const next = settle(apply(state, bounded(input), at), graph, at);
  return next === state ? state : { ...next, updatedAt: at };
}

/** Reasons are others' words: a caller's, an agent's failure. There is one for each step, and all of them must be read again. */
function bounded(input: RunInput): RunInput {
  switch (input.type) {
    case 'step-ended':
      return { ...input, end: { ...input.end, reason: input.end.reason && shortened(input.end.reason) } };
    case 'step-refused':
    case 'cancel':
    case 'give-up':
    case 'expire':
      return { ...input, reason: shortened(input.reason) };
    case 'begun':
    case 'step-started':
    case 'message':
      return input;
  }
}

function shortened(reason: string): string {
  return reason.length <= REASON_CHARACTERS ? reason : `${reason.slice(0, REASON_CHARACTERS - 1)}…`;
}

function apply(state: RunState, input: RunInput, at: string): RunState {
  switch (input.type) {
    case 'begun':
      return state.status === 'queued' ? { ...state, status: 'running' } : state;
    case 'step-started':
      return withStep(state, input.step, (step) => ({
        ...step,
        status: 'running',
        job: input.job,
        attempts: step.attempts + 1,
        startedAt: step.startedAt ?? at,
      }));
    case 'step-ended':
      return withStep(state, input.step, (step) => ({
        ...ended(step, stepStatusOf(input.end.status, step.cancelWanted), input.end.reason, at),
        tokens: input.tokens,
        cost: input.cost,
      }));
    case 'step-refused':
      return withStep(state, input.step, (step) => ended(step, 'failed', input.reason, at));
    case 'message':
      return withStep(state, input.step, (step) => ({ ...step, messages: step.messages + 1 }));
    case 'cancel':
      return input.step === undefined
        ? { ...stopped(state, input.reason, at), status: 'canceling', reason: input.reason }
        : withStep(state, input.step, (step) => wantedEnd(step, input.reason, at));
    case 'give-up':
      return state.reason === null ? { ...stopped(state, input.reason, at), reason: input.reason } : state;
    case 'expire':
      return { ...state, status: 'expired', terminal: true, terminalAt: at, reason: input.reason };
  }
}

/** What a job's end is for its step (R3). A died one has failed here: the retry comes before this. */
export function stepStatusOf(end: JobEnd['status'], cancelWanted: boolean): StepStatus {
  switch (end) {
    case 'done':
      return 'succeeded';
    case 'timed-out':
      return 'timed-out';
    case 'aborted':
    case 'killed':
    case 'died':
      return cancelWanted ? 'canceled' : 'failed';
    case 'failed':
      return 'failed';
  }
}

function withStep(state: RunState, id: StepId, change: (step: StepState) => StepState): RunState {
  const step = state.steps[id];
  if (step === undefined || isFinalStep(step.status)) return state;
  const changed = change(step);
  return changed === step ? state : { ...state, steps: { ...state.steps, [id]: changed } };
}

function ended(step: StepState, status: StepStatus, reason: string | null, at: string): StepState {
  return { ...step, status, reason, endedAt: at };
}

/** One that has not begun is over at once; of one that runs the end is wanted. */
function wantedEnd(step: StepState, reason: string, at: string): StepState {
  if (isFinalStep(step.status)) return step;
  return step.status === 'pending' ? ended(step, 'canceled', reason, at) : { ...step, cancelWanted: true };
}

function stopped(state: RunState, reason: string, at: string): RunState {
  const steps = Object.entries(state.steps).map(([id, step]) => [id, wantedEnd(step, reason, at)]);
  return { ...state, steps: Object.fromEntries(steps) };
}

/** Steps that can no longer begin are blocked, and a run whose steps have all ended has ended. */
function settle(state: RunState, graph: Graph, at: string): RunState {
  if (state.terminal) return state;
  let next = state;
  for (let changed = true; changed; ) {
    changed = false;
    for (const step of graph.steps) {
      const lost = next.steps[step.id]?.status === 'pending' && lostNeed(next, step);
      if (!lost) continue;
      next = withStep(next, step.id, (own) =>
        ended(own, 'blocked', `step "${lost}" has ${next.steps[lost]?.status}`, at),
      );
      changed = true;
    }
  }
  const final = endOf(next);
  return final === undefined ? next : { ...next, status: final, terminal: true, terminalAt: at };
}

function lostNeed(state: RunState, { needs }: Step): StepId | undefined {
  return needs.find((id) => {
    const status = state.steps[id]?.status;
    return status !== undefined && isFinalStep(status) && status !== 'succeeded';
  });
}

function endOf({ status, reason, steps }: RunState): RunStatus | undefined {
  const all = Object.values(steps).map((step) => step.status);
  if (!all.every(isFinalStep)) return undefined;
  if (status === 'canceling') return 'canceled';
  const succeeded = all.filter((one) => one === 'succeeded').length;
  // What was given up came to its end too late, even if all of it succeeded in the end.
  if (succeeded === all.length) return reason === null ? 'succeeded' : 'mixed';
  return succeeded > 0 ? 'mixed' : 'failed';
}

/** Steps that may begin now, in the order of the graph: as many as there is room for. */
export function readySteps(state: RunState, graph: Graph, concurrency: number): Step[] {
  if (state.status !== 'running' || state.reason !== null) return [];
  const running = Object.values(state.steps).filter(({ status }) => status === 'running').length;
  return graph.steps
    .filter((step) => state.steps[step.id]?.status === 'pending' && isReady(state, step))
    .slice(0, Math.max(0, concurrency - running));
}

function isReady({ steps }: RunState, { needs, after }: Step): boolean {
  const statusOf = (id: StepId): StepStatus => steps[id]?.status ?? 'pending';
  return needs.every((id) => statusOf(id) === 'succeeded') && after.every((id) => isFinalStep(statusOf(id)));
}

/** Running steps whose jobs are to be ended. */
export function stepsToEnd({ steps }: RunState): string[] {
  return Object.entries(steps).flatMap(([id, step]) =>
    step.status === 'running' && step.cancelWanted ? [id] : [],
  );
}
