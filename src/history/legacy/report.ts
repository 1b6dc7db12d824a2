/** What a migration found and did; printed by the helper as JSON, so it is one schema (S12). */
import * as z from 'zod/mini';

export const LEGACY_VERSION = 1;

/** Named problems in one report; the others are counted (rule 7). */
const MAX_PROBLEMS = 50;
const MAX_TEXT = 1_000;

const count = z.int().check(z.minimum(0));
const tally = z.object({
  count,
  bytes: count,
  /** Milliseconds since 1970 of the oldest file's mtime. */
  oldest: z.optional(z.number()),
});
/** Some files, as numbers. */
export type LegacyTally = z.infer<typeof tally>;

const problem = z.object({
  /** Below the store; a sandbox may have chosen it. */
  file: z.string(),
  reason: z.string(),
});
export type LegacyProblem = z.infer<typeof problem>;

const stop = z.object({
  reason: z.enum(['no-space', 'busy', 'interrupted', 'failed']),
  message: z.string(),
});

/** What lies in the store, or still lay there when a migration had done its part. */
export const LegacyContent = z.object({
  /** By domain: Sessions that its first start will take over. */
  waiting: z.record(z.string(), tally),
  /** Sessions of no configured domain. */
  unowned: tally,
  /** Named like Sessions, without a readable header: nobody can tell whose they are. */
  damaged: tally,
  /** Not named like Sessions, links, folders below folders; for a clear also what cannot be read: never touched. */
  foreign: tally,
});
export type LegacyContent = z.infer<typeof LegacyContent>;

export const MigrationReport = z.object({
  /** False when every domain's history had been sorted by this table before. */
  ran: z.boolean(),
  moved: tally,
  /** Of those: a copy was there already, whole, as a migration that was killed leaves it. */
  alreadyThere: count,
  /** Another Session had the name in the domain; both are there now. */
  renamed: z.object({ items: z.array(z.object({ file: z.string(), name: z.string() })), omitted: count }),
  content: LegacyContent,
  /** Sessions that stay although they belong to the domain, and anything else worth a word. */
  problems: z.object({ items: z.array(problem), omitted: count }),
  /** Of those: the system refused, so that another try may help. */
  failed: count,
  /** Not everything was looked at: the next start goes on. */
  stopped: z.optional(stop),
});
export type MigrationReport = z.infer<typeof MigrationReport>;
export type MigrationStop = z.infer<typeof stop>;

export const ClearReport = z.object({
  deleted: tally,
  content: LegacyContent,
  problems: z.object({ items: z.array(problem), omitted: count }),
});
export type LegacyClearReport = z.infer<typeof ClearReport>;

export function noTally(): LegacyTally {
  return { count: 0, bytes: 0 };
}

export function noContent(): LegacyContent {
  return { waiting: {}, unowned: noTally(), damaged: noTally(), foreign: noTally() };
}

export function emptyReport(): MigrationReport {
  return {
    ran: false,
    moved: noTally(),
    alreadyThere: 0,
    renamed: { items: [], omitted: 0 },
    content: noContent(),
    problems: { items: [], omitted: 0 },
    failed: 0,
  };
}

export function addTo(tally: LegacyTally, file: { size: number; mtimeMs: number }): void {
  tally.count += 1;
  tally.bytes += file.size;
  tally.oldest = Math.min(tally.oldest ?? file.mtimeMs, file.mtimeMs);
}

/** Keeps the first entries and counts the rest. */
export function note<T extends Record<string, string>>(
  list: { items: T[]; omitted: number },
  entry: T,
): void {
  if (list.items.length >= MAX_PROBLEMS) list.omitted += 1;
  else {
    const cut = Object.entries(entry).map(([key, text]) => [key, text.slice(0, MAX_TEXT)]);
    list.items.push({ ...entry, ...Object.fromEntries(cut) });
  }
}

/** How many files named like Sessions are still in the store. */
export function leftIn({ waiting, unowned, damaged }: LegacyContent): number {
  return [...Object.values(waiting), unowned, damaged].reduce((sum, { count }) => sum + count, 0);
}

/** Counts a file that stays in the store where it belongs. */
export function countIn(
  content: LegacyContent,
  {
    kind,
    domain,
    stats,
  }: {
    kind: 'session' | 'damaged' | 'foreign';
    domain?: string | undefined;
    stats: { size: number; mtimeMs: number };
  },
): void {
  if (kind !== 'session') addTo(content[kind], stats);
  else if (domain === undefined) addTo(content.unowned, stats);
  else {
    content.waiting[domain] ??= noTally();
    addTo(content.waiting[domain], stats);
  }
}
