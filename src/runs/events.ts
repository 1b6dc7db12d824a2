/**
 * `events.jsonl` (R1): all that has happened to a run, appended by the holder of its lock. A cursor is the number of the
 * last event that was read.
 */
import * as z from 'zod/mini';
import { RUN_STATUSES, STEP_STATUSES } from './status-file.ts';

export const EVENTS_FILE = 'events.jsonl';
export const EVENT_BYTES = 1_024 * 1_024;
const VERSION = 1;

let schema: ReturnType<typeof makeSchema> | undefined;

function makeSchema() {
  const text = z.string();
  const nullable = z.nullable(text);
  const base = {
    version: z.literal(VERSION),
    /** 1 is the first. */
    seq: z.int().check(z.gt(0)),
    /** ISO 8601. */
    at: text,
  };
  return z.discriminatedUnion('type', [
    z.object({ ...base, type: z.literal('run'), status: z.enum(RUN_STATUSES), reason: nullable }),
    z.object({
      ...base,
      type: z.literal('step'),
      step: text,
      status: z.enum(STEP_STATUSES),
      attempt: z.int(),
      job: nullable,
      reason: nullable,
    }),
    /** A job was found that another owner had started. */
    z.object({ ...base, type: z.literal('attached'), step: text, job: text }),
    z.object({ ...base, type: z.literal('message'), step: text, text, from: text, receipt: text }),
    z.object({
      ...base,
      type: z.literal('owner'),
      /** Session, or null for the operator. */
      session: nullable,
      pid: z.int(),
      container: text,
      /** Of who had it before. */
      before: nullable,
    }),
    z.object({ ...base, type: z.literal('worktree'), step: text, path: text, cleanedUp: z.boolean() }),
    z.object({ ...base, type: z.literal('budget'), text }),
    /** Anything that went wrong and did not end the run. */
    z.object({ ...base, type: z.literal('problem'), text }),
  ]);
}

export type RunEvent = z.infer<ReturnType<typeof makeSchema>>;
type Without<T> = T extends unknown ? Omit<T, 'version' | 'seq' | 'at'> : never;
/** An event before it has its number. */
export type NewEvent = Without<RunEvent>;

export function parseEvent(value: unknown): RunEvent | undefined {
  schema ??= makeSchema();
  return z.safeParse(schema, value).data;
}

export function numberedEvent(event: NewEvent, seq: number, at: Date): RunEvent {
  return { version: VERSION, seq, at: at.toISOString(), ...event };
}
