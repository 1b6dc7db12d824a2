/** What a migration, or another look at the old history, is given. */
import type { Clock } from '../../lib/clock.ts';
import type { RandomSource } from '../../lib/ids.ts';
import type { LockRecord } from '../../lib/lock-record.ts';
import type { DomainTable } from '../../wire/index.ts';
import type { Owner } from '../transfer/destination.ts';
import type { Between } from './batch.ts';

export interface LegacyNeeds {
  /** Who owns the store: a user that no sandbox runs as. Default `LEGACY_SEAL`; needs the right to give files away. */
  readonly seal?: Owner;
  readonly clock?: Clock;
  readonly random?: RandomSource;
  /** What the lock's file says of its holder, for people. */
  readonly holder?: LockRecord;
  /** Milliseconds to wait for another migration of the same shared volume; default 5 minutes. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal;
  /** Larger files stay, in bytes; default 1 GiB. */
  readonly maxBytes?: number;
  /** For tests: called between any two steps that change something. */
  readonly between?: Between;
}

export interface MigrationOptions extends LegacyNeeds {
  /** The shared volume's root directory; the old history is in `.pi/agent/sessions` of it. */
  readonly sharedRoot: string;
  /** Sessions directories of the domains to take history over into, by domain: usually one. */
  readonly domains: Readonly<Record<string, string>>;
  readonly table: DomainTable;
  readonly onProgress?: (progress: MigrationProgress) => void;
}

export type MigrationProgress =
  | { step: 'waiting' }
  /** `files` of `total` in the store have been looked at; `bytes` have been moved. */
  | { step: 'moving'; files: number; total: number; moved: number; bytes: number };
