/**
 * What goes over an owner's socket: one request a line, one answer a line, each JSON of at most 1 MiB, in version 1.
 * Whoever asks says who it is; the owner decides whether it may (R6). `watch` is the last request on its connection.
 */
import * as z from 'zod/mini';
import { RUN_ERROR_CODES } from './errors.ts';

export const RUN_PROTOCOL_VERSION = 1;
export const MAX_LINE_BYTES = 1_048_576;
/** It stands in events and reasons. */
const SESSION_CHARACTERS = 200;

let schemas: ReturnType<typeof makeSchemas> | undefined;

function makeSchemas() {
  const version = z.literal(RUN_PROTOCOL_VERSION);
  const text = z.string().check(z.minLength(1));
  const caller = z.object({
    /** Of the pi Session, or null. */
    session: z.nullable(z.string().check(z.maxLength(SESSION_CHARACTERS))),
    /** Neither a Session nor a job: a shell, or the host. */
    operator: z.boolean(),
    force: z.boolean(),
  });
  return {
    request: z.discriminatedUnion('op', [
      z.object({ version, op: z.literal('message'), caller, step: text, text }),
      /** Answered when it is written down; the end comes later. Without a step it is the run that is canceled. */
      z.object({ version, op: z.literal('cancel'), caller, step: z.optional(text) }),
      /** Answered at once; then a line for every change of the run's files, until its end. */
      z.object({ version, op: z.literal('watch') }),
    ]),
    answer: z.union([
      z.object({ ok: z.literal(true), receipt: z.optional(z.enum(['queued', 'delivered', 'kept'])) }),
      z.object({
        ok: z.literal(false),
        error: z.object({
          code: z.enum(RUN_ERROR_CODES),
          message: z.string(),
          hint: z.optional(z.string()),
        }),
      }),
    ]),
    notice: z.object({ version, event: z.literal('changed'), seq: z.int() }),
  };
}

export type RunRequest = z.infer<ReturnType<typeof makeSchemas>['request']>;
export type RunAnswer = z.infer<ReturnType<typeof makeSchemas>['answer']>;
/** The files have something new; `seq` is the last event. */
export type RunNotice = z.infer<ReturnType<typeof makeSchemas>['notice']>;

export function parseRunRequest(value: unknown): RunRequest | undefined {
  schemas ??= makeSchemas();
  return z.safeParse(schemas.request, value).data;
}

export function parseRunAnswer(value: unknown): RunAnswer | undefined {
  schemas ??= makeSchemas();
  return z.safeParse(schemas.answer, value).data;
}

export function parseRunNotice(value: unknown): RunNotice | undefined {
  schemas ??= makeSchemas();
  return z.safeParse(schemas.notice, value).data;
}
