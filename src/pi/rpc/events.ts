/** What pi says of itself in RPC mode, as far as we use it. What is not known here passes through as `unknown`. */
import * as z from 'zod/mini';
import type { OperationError } from '../../lib/errors.ts';

/** Made on first use: the lock extension imports this room and must not pay for schemas it does not need. */
let schemas: ReturnType<typeof makeSchemas> | undefined;

/** For a field that is shown and never decides: of another form it is left out, and the event still counts. */
function lenient<T extends z.core.$ZodType>(schema: T) {
  return z.catch(z.optional(schema), undefined);
}

function makeSchemas() {
  const text = lenient(z.string());
  const flag = z.catch(z._default(z.boolean(), false), false);
  const block = z.object({
    type: z.string(),
    text,
    /** Of a `toolCall`. */
    id: text,
    name: text,
    arguments: z.optional(z.unknown()),
  });
  const amount = z.catch(z._default(z.number(), 0), 0);
  const usage = z.object({
    input: amount,
    output: amount,
    cacheRead: amount,
    cacheWrite: amount,
    totalTokens: amount,
    cost: lenient(z.object({ total: amount })),
  });
  const message = z.object({
    role: z.string(),
    // Not lenient: an answer whose text we cannot read must not count as an empty one.
    content: z.nullish(z.union([z.string(), z.array(block)])),
    /** Of an assistant's message: why it ended. */
    stopReason: text,
    errorMessage: text,
    provider: text,
    model: text,
    usage: lenient(usage),
    /** Of a tool's result. */
    toolName: text,
    isError: flag,
  });
  const tool = { toolCallId: z.string(), toolName: z.string() };
  const type = <Name extends string>(name: Name) => z.literal(name);
  const event = z.discriminatedUnion('type', [
    z.object({ type: type('agent_start') }),
    z.object({ type: type('agent_end'), willRetry: flag }),
    z.object({ type: type('agent_settled'), aborted: flag }),
    z.object({ type: type('turn_start') }),
    z.object({ type: type('turn_end') }),
    z.object({ type: type('message_start'), message }),
    z.object({ type: type('message_end'), message }),
    z.object({
      type: type('message_update'),
      assistantMessageEvent: z.object({ type: z.string(), delta: text, content: z.optional(z.unknown()) }),
    }),
    z.object({ type: type('tool_execution_start'), ...tool, args: z.optional(z.unknown()) }),
    z.object({ type: type('tool_execution_update'), ...tool, partialResult: z.optional(z.unknown()) }),
    z.object({
      type: type('tool_execution_end'),
      ...tool,
      result: z.optional(z.unknown()),
      isError: flag,
      durationMs: lenient(z.number()),
    }),
    z.object({ type: type('queue_update'), steering: z.array(z.string()), followUp: z.array(z.string()) }),
    z.object({ type: type('compaction_start'), reason: text }),
    z.object({
      type: type('compaction_end'),
      reason: text,
      aborted: flag,
      willRetry: flag,
      errorMessage: text,
      /** What the summary took. */
      result: lenient(z.object({ usage: lenient(usage) })),
    }),
    z.object({
      type: type('auto_retry_start'),
      attempt: amount,
      maxAttempts: amount,
      delayMs: amount,
      errorMessage: text,
    }),
    z.object({ type: type('auto_retry_end'), success: flag, attempt: amount, finalError: text }),
    z.object({ type: type('session_info_changed'), name: text }),
    z.object({ type: type('extension_error'), extensionPath: text, event: text, error: text }),
    z.object({
      type: type('extension_ui_request'),
      id: z.string(),
      /** `select confirm input editor` wait for an answer; `notify`, `setStatus` and others do not. */
      method: z.string(),
      title: text,
      message: text,
      options: lenient(z.array(z.string())),
      placeholder: text,
      prefill: text,
      /** Milliseconds after which pi answers for itself. */
      timeout: lenient(z.number()),
      notifyType: text,
    }),
  ]);
  return { event, message };
}

/** An event of pi 1.6.0 that is known here; fields that are not used are left out. */
export type KnownPiEvent = z.infer<ReturnType<typeof makeSchemas>['event']>;

/** Tokens, and cost in US dollars. */
export type PiUsage = NonNullable<PiMessage['usage']>;

/** A message of the conversation, as events carry it. */
export type PiMessage = z.infer<ReturnType<typeof makeSchemas>['message']>;

/** An event of another pi, or of another form: handed on as it came. */
export interface UnknownPiEvent {
  type: 'unknown';
  /** Its `type`. */
  name: string;
  raw: object;
}

/** Something was damaged on the way (PiGarbageError, PiLineTooLongError, PiDialogError); it costs itself only. */
export interface PiProblem {
  type: 'problem';
  error: OperationError;
}

/** Everything that a receiver is handed. */
export type PiEvent = KnownPiEvent | UnknownPiEvent | PiProblem;

export type PiDialogEvent = Extract<KnownPiEvent, { type: 'extension_ui_request' }>;

/** The event that a line holds; undefined for what is none: no object, or without a `type`. */
export function parsePiEvent(value: unknown): KnownPiEvent | UnknownPiEvent | undefined {
  if (typeof value !== 'object' || value === null || !('type' in value)) return undefined;
  if (typeof value.type !== 'string') return undefined;
  schemas ??= makeSchemas();
  const known = z.safeParse(schemas.event, value);
  return known.success ? known.data : { type: 'unknown', name: value.type, raw: value };
}

/** All text of a message, its blocks joined. */
export function textOfMessage({ content }: PiMessage): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((block) => (block.type === 'text' ? (block.text ?? '') : '')).join('');
}
