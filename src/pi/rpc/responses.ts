/** What pi answers: the envelope, and the data of the requests we make. Unknown fields are left out. */
import * as z from 'zod/mini';
import { PiGarbageError } from './errors.ts';

let schemas: ReturnType<typeof makeSchemas> | undefined;

function makeSchemas() {
  const number = z.number();
  return {
    envelope: z.object({
      type: z.literal('response'),
      /** Missing where pi could not read the request. */
      id: z.optional(z.string()),
      command: z.string(),
      success: z.boolean(),
      error: z.optional(z.string()),
      data: z.optional(z.unknown()),
    }),
    prompt: z.object({ disposition: z.enum(['started', 'queued', 'handled']) }),
    queue: z.object({ disposition: z.enum(['queued', 'handled']) }),
    cleared: z.object({ steering: z.array(z.string()), followUp: z.array(z.string()) }),
    state: z.object({
      isStreaming: z.boolean(),
      isCompacting: z.boolean(),
      sessionId: z.string(),
      sessionFile: z.optional(z.string()),
      sessionName: z.optional(z.string()),
      model: z.catch(z.optional(z.object({ provider: z.string(), id: z.string() })), undefined),
      thinkingLevel: z.catch(z.optional(z.string()), undefined),
      messageCount: number,
      pendingMessageCount: number,
    }),
    stats: z.object({
      tokens: z.object({
        input: number,
        output: number,
        cacheRead: number,
        cacheWrite: number,
        total: number,
      }),
      /** In US dollars. */
      cost: number,
      totalMessages: number,
      toolCalls: number,
    }),
  };
}

type Schemas = ReturnType<typeof makeSchemas>;

/** The response that a line holds, or undefined. */
export function parseResponse(value: unknown): PiResponse | undefined {
  schemas ??= makeSchemas();
  return z.safeParse(schemas.envelope, value).data;
}

/**
 * The data of an answer, by the schema of its request.
 *
 * @throws PiGarbageError when it has not the form that we know
 */
export function parseAnswer<T>(choose: (schemas: Schemas) => z.ZodMiniType<T>, data: unknown): T {
  schemas ??= makeSchemas();
  const parsed = z.safeParse(choose(schemas), data);
  if (parsed.success) return parsed.data;
  throw new PiGarbageError('an answer of a form that is not known');
}

export type PiResponse = z.infer<Schemas['envelope']>;

/** What pi says of its Session. `isStreaming` is unreliable after an early `agent_settled`. */
export type PiState = z.infer<Schemas['state']>;

/** What the Session has used so far, over all its runs. */
export type PiStats = z.infer<Schemas['stats']>;

/** Texts that pi took and has not put into the conversation. */
export type PiQueue = z.infer<Schemas['cleared']>;
