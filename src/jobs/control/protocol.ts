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
        state: z.optional(z.unknown()),
        /** Of `abort` and `kill`: how the run ended. */
        status: z.optional(z.string()),
      }),
      z.object({
        ok: z.literal(false),
        error: z.object({ code: z.enum(ERROR_CODES), message: z.string() }),
      }),
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
export type ControlErrorCode = (typeof ERROR_CODES)[number];

export function parseRequest(value: unknown): ControlRequest | undefined {
  schemas ??= makeSchemas();
  return z.safeParse(schemas.request, value).data;
}

export function parseControlAnswer(value: unknown): ControlAnswer | undefined {
  schemas ??= makeSchemas();
  return z.safeParse(schemas.answer, value).data;
}
