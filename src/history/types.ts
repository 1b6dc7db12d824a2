/** What the room takes and gives. Formats on disk are in records.ts. */
import type { Bounded } from '../lib/bounded-list.ts';
import type { Clock } from '../lib/clock.ts';
import type { RandomSource } from '../lib/ids.ts';
import type { LockRecord } from '../lib/lock-record.ts';
import type { SessionId } from '../pi/index.ts';

/** Where one domain's history lies, seen from the process that works on it. */
export interface History {
  /** The sessions directory itself, no link to it: the mount of `pi-sessions-<domain>`. */
  readonly sessions: string;
  /** The kernel locks of open Sessions, in `pi-domain-state-<domain>` (agent-dir's `sessionLocks`). */
  readonly locks: string;
  /** Where sandboxes see `sessions`, if that is another path: a Session is also locked by its path. */
  readonly mountedAt?: string;
}

/** Whole days, 0 or more (S11). */
export interface Retention {
  /** Sessions unchanged for longer go; 0 keeps everything. */
  readonly days: number;
  /** So long they stay in the trash; 0 turns the trash off. */
  readonly trashDays: number;
}

/** What is read outside the room's logic; each has the system's as its default. */
export interface HistoryNeeds {
  readonly clock?: Clock;
  readonly random?: RandomSource;
  /** What the history lock's file says of its holder, for people. */
  readonly holder?: LockRecord;
  /** Milliseconds to wait for another prune, restore or clear of this domain; default 10,000. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
  /** For tests: called between any two steps that change something. */
  readonly between?: (step: string) => void;
}

/** One Session as a prune decides about it. */
export interface SessionFacts {
  /** Relative to the sessions directory: `<folder>/<name>.jsonl` or `<name>.jsonl`. */
  readonly file: string;
  readonly id: SessionId;
  /** As the header has it; sandboxes write it, so it is hostile. */
  readonly cwd: string | undefined;
  readonly bytes: number;
  /** The newest of mtime and the last entry's timestamp, and never in the future. */
  readonly lastChange: Date;
}

export interface Tally {
  count: number;
  bytes: number;
  /** The oldest last change among them; undefined when there are none. */
  oldest: Date | undefined;
}

/** Something that stays where it is, and why (S11). */
export interface HistoryProblem {
  /** Relative to the sessions directory; hostile. */
  readonly file: string;
  readonly kind:
    | 'foreign' // not named like a Session
    | 'no-session' // named like one, without a Session's header
    | 'link'
    | 'special' // a fifo, a socket, a device, or a directory named like a Session
    | 'mount'
    | 'unreadable'
    | 'undatable' // no timestamp in as much of its end as is looked at
    | 'failed'; // the system refused to move or remove it
  /** One line for people. */
  readonly reason: string;
}

/** A Session that was, or with a dry run would be, moved to the trash or deleted. */
export interface RemovedSession extends SessionFacts {
  /** Where in the trash it is, relative to the sessions directory; undefined when it is deleted. */
  readonly trashed: string | undefined;
  /** Some pi still has it open. */
  readonly open: boolean;
}

/**
 * Conversations that another room keeps, pruned with the same age and counted in the same message (S11: job
 * conversations). The top storey hands them in.
 */
export interface OtherConversations {
  /** Plural, for people: `job conversations`. */
  readonly what: string;
  prune(options: { unchangedSince: Date; dryRun: boolean }): Promise<{ count: number; bytes: number }>;
}

export interface PruneOptions extends HistoryNeeds {
  readonly retention: Retention;
  /** Writes nothing at all, takes no lock. */
  readonly dryRun?: boolean;
  /** True for a Session that this start names or continues: it is never affected. Asked about expired ones only. */
  readonly spare?: (session: SessionFacts) => boolean;
  readonly others?: readonly OtherConversations[];
}

export interface PruneReport {
  readonly dryRun: boolean;
  readonly retention: Retention;
  /** Sessions that left their place, for the trash or for good. */
  readonly removed: Tally;
  readonly others: { what: string; count: number; bytes: number }[];
  /** `removed.count` and all of `others`: the number in the message. */
  readonly total: number;
  /** Trashed Sessions whose days were over; never those of `removed`, also where the trash is off. */
  readonly expiredTrash: Tally;
  readonly spared: number;
  /** Copies in the trash that stay beyond their days, since some pi has the Session open. */
  readonly keptOpen: number;
  readonly sessions: Bounded<RemovedSession>;
  readonly problems: Bounded<HistoryProblem>;
  /** The signal came before the end: the rest is the next prune's. */
  readonly interrupted: boolean;
  /**
   * Nothing was ever deleted on this domain before, and now something is: say count, size, oldest and how to get them
   * back, then call `acknowledgeFirstDeletion`.
   */
  readonly firstDeletion: boolean;
}

/** Of one domain. Only files are opened that their mtime says are expired. */
export interface HistorySummary {
  /** Files that count as Sessions. */
  readonly count: number;
  readonly bytes: number;
  readonly oldest: Date | undefined;
  readonly newest: Date | undefined;
  /** Expired by the given retention: the next start moves them to the trash. */
  readonly expired: number;
  /** Known to be no whole Session without reading every file: empty, or expired and without a header. */
  readonly damaged: number;
  /** Sessions that some pi of this domain has open now, also one with nothing written yet. */
  readonly open: number;
  readonly trash: Tally;
  readonly problems: Bounded<HistoryProblem>;
}

/** One Session of a listing. Everything of it but numbers and dates was written by a sandbox. */
export interface SessionRow {
  readonly file: string;
  /** Undefined for a file without a Session's header. */
  readonly id: SessionId | undefined;
  /** The last name that was given to it. */
  readonly name: string | undefined;
  readonly cwd: string | undefined;
  readonly lastChange: Date;
  readonly bytes: number;
  readonly open: boolean;
  readonly expired: boolean;
  /** What is wrong with it; undefined when its header and its end are whole. */
  readonly damaged: string | undefined;
}

/** One Session in the trash. */
export interface TrashRow {
  /** Relative to the sessions directory: `.trash/<day>/<folder>/<name>.jsonl.trashed`. */
  readonly file: string;
  /** Where it came from, relative to the sessions directory. */
  readonly original: string;
  readonly id: SessionId | undefined;
  readonly cwd: string | undefined;
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string;
  /** The first moment at which a prune may delete it; undefined while some pi has it open. */
  readonly expires: Date | undefined;
  readonly lastChange: Date;
  readonly bytes: number;
  readonly open: boolean;
}

/** A Session's facts and what was said in it, cut to what a person reads. */
export interface ShownSession extends SessionRow {
  readonly version: number | undefined;
  readonly created: Date | undefined;
  readonly parentSession: string | undefined;
  /** In the trash: where it came from. */
  readonly original: string | undefined;
  /** Messages by role, and other entries by type. */
  readonly entries: Record<string, number>;
  /** Lines that are not JSON. */
  readonly damagedLines: number;
  /** The first and the last of what was said, each text cut. */
  readonly outline: OutlineEntry[];
  /** Entries between the first and the last that are not in `outline`. */
  readonly outlineOmitted: number;
  /** Reading stopped at the stated limit. */
  readonly truncated: boolean;
}

export interface OutlineEntry {
  readonly at: Date | undefined;
  readonly role: string;
  readonly text: string;
}

/** One line of `sessions log`. */
export interface DeletionEntry {
  readonly at: Date;
  readonly action: 'trashed' | 'deleted' | 'restored';
  readonly why: 'retention' | 'trash' | 'asked' | 'cleared' | 'leftover' | 'used';
  /** Where it was, relative to the sessions directory. */
  readonly file: string;
  readonly id: string | undefined;
  readonly bytes: number;
  readonly lastChange: Date | undefined;
  /** Where it went. */
  readonly to: string | undefined;
  /** For `retention` and `trash`: the days that were set. */
  readonly days: number | undefined;
  /** `failed`: it stayed where it was. `unknown`: the process ended in between; it is in one of the two places. */
  readonly outcome: 'done' | 'failed' | 'unknown';
}

export interface ClearReport {
  readonly sessions: Tally;
  readonly trash: Tally;
  readonly problems: Bounded<HistoryProblem>;
}
