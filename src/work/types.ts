/** What the room takes and gives. Formats on disk are in manifest.ts and deletion-log.ts. */
import type { Bounded } from '../lib/bounded-list.ts';
import type { Clock } from '../lib/clock.ts';
import type { RandomSource } from '../lib/ids.ts';

/**
 * Limits of one tenant's retention (W7). What is in use counts for none of them and is never removed.
 */
export interface WorkRetention {
  /** Runs unused for longer go. Ceiling 365. */
  readonly maxAgeDays: number;
  /** So many runs that nobody uses stay. Ceiling 1,024. */
  readonly maxRuns: number;
  /** So much disk those may take together. Ceiling 64 GiB. */
  readonly maxBytes: number;
  /** So many directories of a tenant are looked at in one go. Ceiling 100,000. */
  readonly maxScannedRuns: number;
  /** So many files and directories the runs that stay may have together. Ceiling 1,000,000. */
  readonly maxScannedEntries: number;
  /** A run with directories nested deeper is not measured. Ceiling 256. */
  readonly maxDepth: number;
}

export interface WorkRunRequest {
  /** What kind of work it is; one name component (W2). */
  readonly category: string;
  /** Whose work it is; one name component. */
  readonly tenant: string;
  /** A run that several processes share by its name; without it a new one is made. */
  readonly runId?: string | undefined;
  /** Applied to the tenant before this returns; without it the default is, at most once an hour. */
  readonly retention?: Partial<WorkRetention> | undefined;
}

export interface ReleaseOptions {
  /** Remove the run at once, unless somebody else still holds it. */
  readonly delete?: boolean;
}

/** A leased directory: nothing removes it while this process lives and has not released it (W3, W5). */
export interface WorkRun {
  /** Absolute, without links. */
  readonly path: string;
  readonly runId: string;
  /**
   * Says that the run is still of use, from which its age counts.
   *
   * @throws WorkRunGoneError when somebody removed it by hand, FileError
   */
  touch(): Promise<void>;
  /**
   * Ends the lease; the last one frees the run, which then stays until retention removes it. A second call does nothing,
   * but for `delete`, which removes what is still there and free.
   *
   * @returns whether the run was removed; what of it the system refuses to remove is the next prune's
   */
  release(options?: ReleaseOptions): Promise<{ deleted: boolean }>;
}

/** Whose a namespace is: the object that pi hands to an extension, of which only this is used. */
export interface StorageOwner {
  on(event: 'session_shutdown', handler: () => undefined): unknown;
}

/** What one extension has to itself (W3). Nothing of it is there before the first acquire, or before it makes it. */
export interface ExtensionStorage {
  /** For what must last: to delete it loses something. Absolute; not made. */
  readonly stateDir: string;
  /** For what can be made again: always safe to delete. Absolute; not made. */
  readonly cacheDir: string;
  /**
   * A run in the extension's own tenant, held until it or the storage is released. A retention beyond its ceiling is
   * lowered to it.
   *
   * @throws StorageReleasedError, and as acquireWorkRun
   */
  acquireWorkRun(request?: Pick<WorkRunRequest, 'runId' | 'retention'>): Promise<WorkRun>;
  /** Ends all its leases, and gives the namespace free. */
  release(): Promise<void>;
}

/** What is read outside the room's logic; each has the system's as its default. */
export interface WorkNeeds {
  readonly clock?: Clock;
  readonly random?: RandomSource;
  /** Milliseconds to wait for somebody who joins, removes or prunes the same thing. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
  /** For tests: called between any two steps whose order matters to others. */
  readonly between?: (step: string) => void;
}

/** Something that stays where it is, and why. */
export interface WorkProblem {
  /** Below the work root; written by others, so not safe to print as it is. */
  readonly path: string;
  readonly kind:
    | 'unowned' // no manifest of ours says that it is this run
    | 'foreign' // something that is no run where only runs should be
    | 'lease' // a marker that cannot be read or is not ours, so its run counts as in use
    | 'unfinished' // what was begun to be removed could not be removed whole
    | 'failed'; // the system refused to look at it, or to remove it
  /** One line for people. */
  readonly reason: string;
}

/** Why a run goes. `unmeasured`: it has more entries or is deeper than is looked at. `total`: all tenants together. */
export type RemovalReason = 'age' | 'count' | 'bytes' | 'unmeasured' | 'total' | 'asked';

export interface RemovedRun {
  readonly category: string;
  readonly tenant: string;
  readonly runId: string;
  readonly why: RemovalReason;
  readonly lastUse: Date;
  /** As far as it was measured or deleted. */
  readonly bytes: number;
}

export interface PruneReport {
  /** Nothing was changed; `removed` is what would go. */
  readonly dryRun: boolean;
  /** The first of what went, and how many more. */
  readonly removed: Bounded<RemovedRun>;
  readonly removedBytes: number;
  /** Runs that stay, and those of them that are in use. */
  readonly kept: number;
  readonly active: number;
  /** Disk that the kept runs take that nobody uses. */
  readonly keptBytes: number;
  readonly problems: Bounded<WorkProblem>;
  /** A listing was cut at its limit: what was not seen is the next prune's. */
  readonly cut: boolean;
}
