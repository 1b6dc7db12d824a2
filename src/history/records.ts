/** The room's formats on disk, each with its version. A newer version is skipped by readers and never rewritten. */
import * as z from 'zod/mini';

export const RECORD_VERSION = 1;

const text = z.string().check(z.maxLength(8_192));
/** The log lies where a sandbox can write: what is no number of bytes or days makes its line a damaged one. */
const amount = z.number().check(z.minimum(0), z.maximum(Number.MAX_SAFE_INTEGER));

/** What is about to be done to one Session; on disk before it is done. */
export const Intent = z.object({
  version: z.literal(RECORD_VERSION),
  kind: z.literal('intent'),
  /** Names the lines that one outcome belongs to. */
  batch: text,
  /** ISO 8601, UTC. */
  at: text,
  action: z.enum(['trashed', 'deleted', 'restored']),
  why: z.enum(['retention', 'trash', 'asked', 'cleared', 'leftover', 'used']),
  /** For `retention` and `trash`: the days that were set. */
  days: z.optional(amount),
  /** Below the sessions directory. */
  file: text,
  id: z.optional(text),
  bytes: amount,
  lastChange: z.optional(text),
  to: z.optional(text),
});
export type Intent = z.infer<typeof Intent>;

/** A batch is over: everything in it is done but what is named here. */
export const Outcome = z.object({
  version: z.literal(RECORD_VERSION),
  kind: z.literal('outcome'),
  batch: text,
  at: text,
  /** What stayed where it was, as the intents name it. */
  failed: z.array(text),
});
export type Outcome = z.infer<typeof Outcome>;

export const LogRecord = z.discriminatedUnion('kind', [Intent, Outcome]);

/** The user was told of the first deletion on this domain. Its being there is what counts. */
export interface Notice {
  version: typeof RECORD_VERSION;
  /** ISO 8601, UTC. */
  shownAt: string;
}
