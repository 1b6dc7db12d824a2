import type { FaultCase } from '../fault-case.ts';
import type { HistoryWorld } from '../history/world.ts';
import { migrationFailingCalls, migrationKilled, migrationRaces } from './migration.ts';
import { migrationLinks, migrationSwaps } from './migration-hostile.ts';
import { pruneClock } from './prune-clock.ts';
import { pruneFailingCalls, pruneFullDisk, pruneRights } from './prune-disk.ts';
import { pruneDamaged, pruneLinks, pruneSwaps } from './prune-hostile.ts';
import { pruneKilled, restoreKilled } from './prune-killed.ts';
import { pruneRaces, pruneWriters } from './prune-races.ts';

/** Every kind of fault that session history is tried with (docs/faults.md). */
export const HISTORY_FAULTS: readonly FaultCase<HistoryWorld>[] = [
  pruneKilled,
  restoreKilled,
  pruneRaces,
  pruneWriters,
  pruneLinks,
  pruneSwaps,
  pruneDamaged,
  pruneFailingCalls,
  pruneFullDisk,
  pruneRights,
  pruneClock,
  migrationKilled,
  migrationFailingCalls,
  migrationRaces,
  migrationLinks,
  migrationSwaps,
];
