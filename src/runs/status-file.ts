/**
 * `status.json` (R1, R3): how far a run has come. Only the holder of the run's lock writes it, and before it tells anybody:
 * what no file says has not happened.
 */
import * as z from 'zod/mini';
import { type FileFacts, parseVersioned, SCHEMA_VERSION } from './manifest.ts';

export const STATUS_FILE = 'status.json';
/** 1,024 steps with the path of a job and a reason each, however much of that JSON escapes. */
export const STATUS_BYTES = 16 * 1_024 * 1_024;
export const REASON_CHARACTERS = 1_000;

export const RUN_STATUSES = [
  'queued',
  'running',
  'succeeded',
  'mixed',
  'failed',
  'canceling',
  'canceled',
  'expired',
] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export const STEP_STATUSES = [
  'pending',
  'running',
  'succeeded',
  'failed',
  'blocked',
  'timed-out',
  'canceled',
] as const;
export type StepStatus = (typeof STEP_STATUSES)[number];

let schema: ReturnType<typeof makeSchema> | undefined;

function makeSchema() {
  const text = z.string();
  const nullable = z.nullable(text);
  const amount = z.number().check(z.gte(0));
  const step = z.object({
    status: z.enum(STEP_STATUSES),
    /** Its job's directory, written before the job is made: it may not be there yet. */
    job: nullable,
    /** Begun so far; a second one is the retry. */
    attempts: z.int().check(z.gte(0)),
    /** ISO 8601. */
    startedAt: nullable,
    endedAt: nullable,
    /** Why it ended as it did, in one line. */
    reason: nullable,
    /** Somebody wants its end: what ends it now is `canceled` (R3). */
    cancelWanted: z.boolean(),
    /** Messages it was sent (R3 has their number). */
    messages: z.int().check(z.gte(0)),
    /** Of it and what it started, when it ended; of a running one the job knows. */
    tokens: amount,
    cost: amount,
  });
  return z
    .object({
      schemaVersion: z.literal(SCHEMA_VERSION),
      runId: text,
      status: z.enum(RUN_STATUSES),
      /** ISO 8601. */
      updatedAt: text,
      terminal: z.boolean(),
      terminalAt: nullable,
      reason: nullable,
      steps: z.record(text, step),
    })
    .check(
      z.refine(
        ({ status, terminal }) => terminal === isFinalRun(status),
        'terminal is not what its status is',
      ),
    );
}

export type RunState = z.infer<ReturnType<typeof makeSchema>>;
export type StepState = RunState['steps'][string];

/** @param runId of the directory that it was found in */
export function parseStatus(text: string, runId: string): FileFacts<RunState> {
  schema ??= makeSchema();
  const facts = parseVersioned(STATUS_FILE, text, schema);
  if (facts.kind !== 'known' || facts.value.runId === runId) return facts;
  return { kind: 'damaged', reason: `${STATUS_FILE} is that of a run ${facts.value.runId.slice(0, 100)}` };
}

/** Why this cannot be how far a run of that graph has come: a state without steps would be the end of any. */
export function misfitOf(
  { steps }: RunState,
  graph: { readonly steps: readonly { readonly id: string }[] },
): string | undefined {
  const isWhole = graph.steps.every(({ id }) => Object.hasOwn(steps, id));
  if (isWhole && Object.keys(steps).length === graph.steps.length) return undefined;
  return `${STATUS_FILE} has other steps than the graph`;
}

/** A step by a name that anybody may have given: also one that every object has, such as `constructor`, which is an id as any other. */
export function stepIn({ steps }: RunState, id: string): StepState | undefined {
  return Object.hasOwn(steps, id) ? steps[id] : undefined;
}

const FINAL_RUNS: readonly RunStatus[] = ['succeeded', 'mixed', 'failed', 'canceled', 'expired'];
const FINAL_STEPS: readonly StepStatus[] = ['succeeded', 'failed', 'blocked', 'timed-out', 'canceled'];

export function isFinalRun(status: RunStatus): boolean {
  return FINAL_RUNS.includes(status);
}

export function isFinalStep(status: StepStatus): boolean {
  return FINAL_STEPS.includes(status);
}
