/**
 * What goes over a job's socket (J9): one request a line, one answer a line, each JSON of at most 1 MiB, in version 1.
 * A connection may make several requests, one after the other; `watch` is the last one on its connection.
 */
import * as z from 'zod/mini';

export const PROTOCOL_VERSION = 1;
export const MAX_LINE_BYTES = 1_048_576;

let schemas: ReturnType<typeof makeSchemas> | undefined;

function makeSchemas() {
  const version = z.literal(PROTOCOL_VERSION);
  const text = z.string().check(z.minLength(1));
  const dialog = z.object({
    id: z.string(),
    method: z.enum(['select', 'confirm', 'input', 'editor']),
    title: z.string(),
    message: z.optional(z.string()),
    /** Of `select`: an answer is one of them, or its number, from 1. */
    options: z.optional(z.array(z.string())),
    placeholder: z.optional(z.string()),
    prefill: z.optional(z.string()),
  });
  const state = z.object({
    status: z.string(),
    /** 1 is the next to run; only while the run waits for a slot (J8). */
    position: z.optional(z.int()),
    /** Open ones, the oldest first (J5). */
    dialogs: z.array(dialog),
    /** How many were cancelled because nobody is there to answer. */
    cancelledDialogs: z.int(),
    /** Of the latest message. */
    model: z.optional(z.string()),
    /** What is wanted of the run already: it will end so. */
    ending: z.optional(z.string()),
  });
  return {
    request: z.discriminatedUnion('op', [
      z.object({ version, op: z.literal('steer'), text }),
      z.object({ version, op: z.literal('follow-up'), text }),
      /** Answered when the run has ended. */
      z.object({ version, op: z.literal('abort') }),
      z.object({ version, op: z.literal('kill') }),
      /** Without a dialog's id the oldest one is meant (J5). */
      z.object({ version, op: z.literal('answer'), dialog: z.optional(z.string()), value: z.string() }),
      z.object({ version, op: z.literal('state') }),
      /** Answered at once, then a {@link Notice} with every change until the run has ended. */
      z.object({ version, op: z.literal('watch') }),
    ]),
    answer: z.union([
      z.object({
        ok: z.literal(true),
        /** Of `steer` and `follow-up`. */
        receipt: z.optional(z.enum(['queued', 'delivered', 'not-running'])),
        /** Of `state`. */
        state: z.optional(state),
        /** Of `abort` and `kill`: how the run ended. */
        status: z.optional(z.string()),
      }),
      z.object({
        ok: z.literal(false),
        error: z.object({ code: z.enum(ERROR_CODES), message: z.string() }),
      }),
    ]),
    notice: z.discriminatedUnion('event', [
      z.object({ version, event: z.literal('status'), status: z.string(), position: z.optional(z.int()) }),
      /** A line of `progress.log`. */
      z.object({ version, event: z.literal('progress'), line: z.string() }),
      /** The last one: the run is committed and its lock is free. */
      z.object({ version, event: z.literal('end'), status: z.string(), reason: z.string() }),
    ]),
  };
}

export const ERROR_CODES = [
  /** A line that is no request, or of another version. */
  'bad-request',
  'too-long',
  /** Nothing runs that this could be done to. */
  'not-running',
  /** No such dialog is open, or the value does not fit it. */
  'no-dialog',
  'bad-answer',
  'failed',
] as const;

export type ControlRequest = z.infer<ReturnType<typeof makeSchemas>['request']>;
export type ControlAnswer = z.infer<ReturnType<typeof makeSchemas>['answer']>;
export type ControlState = NonNullable<Extract<ControlAnswer, { ok: true }>['state']>;
export type ControlDialog = ControlState['dialogs'][number];
export type Notice = z.infer<ReturnType<typeof makeSchemas>['notice']>;
export type ControlErrorCode = (typeof ERROR_CODES)[number];

export function parseRequest(value: unknown): ControlRequest | undefined {
  schemas ??= makeSchemas();
  return z.safeParse(schemas.request, value).data;
}

export function parseControlAnswer(value: unknown): ControlAnswer | undefined {
  schemas ??= makeSchemas();
  return z.safeParse(schemas.answer, value).data;
}

export function parseNotice(value: unknown): Notice | undefined {
  schemas ??= makeSchemas();
  return z.safeParse(schemas.notice, value).data;
}
