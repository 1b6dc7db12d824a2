import type { DirectoryHandle } from '../lib/directory-handle.ts';
import type { turns } from '../lib/turns.ts';
import type { DeletionLog } from './deletion-log.ts';
import type { History, PruneOptions, PruneReport } from './types.ts';

/** Mutable while a prune runs. */
export type Report = { -readonly [Key in keyof PruneReport]: PruneReport[Key] };

/** What a prune works with. Without `log` it is a dry run and changes nothing. */
export interface Pruning {
  readonly history: History;
  readonly options: PruneOptions;
  readonly root: DirectoryHandle;
  readonly log: DeletionLog | undefined;
  /** Milliseconds; one moment for the whole prune. */
  readonly now: number;
  readonly report: Report;
  readonly turn: ReturnType<typeof turns>;
  readonly between: (step: string) => void;
}
