/**
 * What `sessions` asks of the program that works on a domain's history, and what that answers (S13). In a running sandbox
 * the answer is hostile input, and whatever answers holds text that sandboxes wrote: every part of it is bounded.
 *
 * An answer is JSON, one object a line, `failed` or `end` the last; `export` answers with the bytes themselves.
 * The schemas are made when they are called for: every command and every supervisor loads this room.
 */
import * as z from 'zod/mini';

export const HISTORY_VERSION = 1;

export const HISTORY_LIMITS = {
  /** Bytes of one line of an answer. */
  line: 1024 * 1024,
  /** Lines of one domain's answer. */
  lines: 250_000,
  /** Characters of one text; longer ones are cut before they are sent. */
  text: 4_096,
  /** Entries of a list within one line. */
  list: 200,
} as const;

const days = () => z.int().check(z.minimum(0), z.maximum(1_000_000));
const text = () => z.string().check(z.maxLength(HISTORY_LIMITS.text));
const amount = () => z.number().check(z.minimum(0), z.maximum(Number.MAX_SAFE_INTEGER));
const date = () => z.iso.datetime();
const list = <T extends z.ZodMiniType>(item: T) => z.array(item).check(z.maxLength(HISTORY_LIMITS.list));
const retention = () => z.object({ days: days(), trashDays: days() });

export function historyRequest() {
  const version = z.literal(HISTORY_VERSION);
  const selector = text();
  return z.discriminatedUnion('verb', [
    z.object({
      version,
      verb: z.literal('list'),
      retention: retention(),
      /** Also a line for each Session, or for each in the trash. */
      sessions: z.boolean(),
      trash: z.boolean(),
    }),
    z.object({ version, verb: z.literal('prune'), retention: retention(), dryRun: z.boolean() }),
    z.object({ version, verb: z.literal('clear'), force: z.boolean() }),
    z.object({ version, verb: z.literal('find'), selector }),
    z.object({ version, verb: z.literal('show'), selector, retention: retention() }),
    z.object({ version, verb: z.literal('export'), selector }),
    z.object({ version, verb: z.literal('export-all'), trash: z.boolean() }),
    z.object({ version, verb: z.literal('restore'), selector }),
    z.object({ version, verb: z.literal('remove'), selector, now: z.boolean(), force: z.boolean() }),
    z.object({ version, verb: z.literal('log'), last: amount() }),
  ]);
}
export type HistoryRequest = z.infer<ReturnType<typeof historyRequest>>;

function tally() {
  return z.object({ count: amount(), bytes: amount(), oldest: z.optional(date()) });
}

function problems() {
  return z.object({
    items: list(z.object({ file: text(), kind: text(), reason: text() })),
    omitted: amount(),
  });
}

function sessionRow() {
  return z.object({
    file: text(),
    id: z.optional(text()),
    name: z.optional(text()),
    cwd: z.optional(text()),
    lastChange: date(),
    bytes: amount(),
    open: z.boolean(),
    expired: z.boolean(),
    damaged: z.optional(text()),
  });
}

function answers() {
  return {
    summary: z.object({
      type: z.literal('summary'),
      ...tally().shape,
      newest: z.optional(date()),
      expired: amount(),
      damaged: amount(),
      open: amount(),
      trash: tally(),
      problems: problems(),
      /** Files of the history from before domains had their own, of whatever domain, when it was last sorted (S12). */
      oldHistoryLeft: z.optional(amount()),
    }),
    session: z.object({ type: z.literal('session'), ...sessionRow().shape }),
    trashed: z.object({
      type: z.literal('trashed'),
      file: text(),
      original: text(),
      id: z.optional(text()),
      cwd: z.optional(text()),
      expires: z.optional(date()),
      lastChange: date(),
      bytes: amount(),
      open: z.boolean(),
    }),
    removed: z.object({
      type: z.literal('removed'),
      file: text(),
      id: z.optional(text()),
      cwd: z.optional(text()),
      bytes: amount(),
      lastChange: date(),
      /** Where in the trash it is; absent when it is gone. */
      trashed: z.optional(text()),
      open: z.boolean(),
    }),
    pruned: z.object({
      type: z.literal('pruned'),
      dryRun: z.boolean(),
      removed: tally(),
      others: list(z.object({ what: text(), count: amount(), bytes: amount() })),
      total: amount(),
      expiredTrash: tally(),
      keptOpen: amount(),
      problems: problems(),
    }),
    cleared: z.object({
      type: z.literal('cleared'),
      sessions: tally(),
      trash: tally(),
      problems: problems(),
    }),
    found: z.object({ type: z.literal('found'), file: text(), id: z.optional(text()), trashed: z.boolean() }),
    shown: z.object({
      type: z.literal('shown'),
      ...sessionRow().shape,
      created: z.optional(date()),
      parentSession: z.optional(text()),
      original: z.optional(text()),
      entries: z.record(text(), amount()),
      damagedLines: amount(),
      outline: list(z.object({ at: z.optional(date()), role: text(), text: text() })),
      outlineOmitted: amount(),
      truncated: z.boolean(),
    }),
    restored: z.object({ type: z.literal('restored'), from: text(), file: text(), id: z.optional(text()) }),
    deletion: z.object({
      type: z.literal('deletion'),
      at: date(),
      action: z.enum(['trashed', 'deleted', 'restored']),
      why: text(),
      file: text(),
      id: z.optional(text()),
      bytes: amount(),
      lastChange: z.optional(date()),
      to: z.optional(text()),
      days: z.optional(amount()),
      outcome: text(),
    }),
    skipped: z.object({ type: z.literal('skipped'), lines: amount() }),
  };
}

export function historyAnswer() {
  const each = answers();
  return z.discriminatedUnion('type', [
    ...([
      each.summary,
      each.session,
      each.trashed,
      each.removed,
      each.pruned,
      each.cleared,
      each.found,
      each.shown,
      each.restored,
      each.deletion,
      each.skipped,
    ] as const),
    z.object({
      type: z.literal('failed'),
      /** The name of its class. */
      error: text(),
      message: text(),
      hint: z.optional(text()),
      exitCode: z.int().check(z.minimum(1), z.maximum(255)),
    }),
    z.object({ type: z.literal('end') }),
  ]);
}
export type HistoryAnswer = z.infer<ReturnType<typeof historyAnswer>>;
export type HistoryLine<Type extends HistoryAnswer['type']> = Extract<HistoryAnswer, { type: Type }>;
