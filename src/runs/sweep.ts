/**
 * The sweep (R9): runs that ended longer ago than they are kept go, orphans that nobody has cared for in a day expire, and what
 * killed starts and removals have left is cleared. One sweeper at a time.
 */
import { existsSync } from 'node:fs';
import { isLive, readStatus } from '../jobs/index.ts';
import { addTo, type Bounded, boundedList } from '../lib/bounded-list.ts';
import { messageOf, OperationError, PiSandboxError } from '../lib/errors.ts';
import { type FileLock, tryLock } from '../lib/kernel-lock.ts';
import { readWorktrees, unlistedWorktrees, writeState } from './files.ts';
import { runIds } from './find.ts';
import { openJournal } from './journal.ts';
import { LIMITS } from './limits.ts';
import { tellEnd } from './owner/untold.ts';
import { type RunDirectory, type RunsPlace, runDirectory, runLock, sweepLock } from './places.ts';
import { type RemoveRunDeps, removeHeldRun } from './remove.ts';
import { advanceRun } from './scheduler.ts';
import type { RunState } from './status-file.ts';
import { sweepLeftovers } from './sweep-leftovers.ts';
import type { LockDeps } from './take.ts';
import { type KnownRun, readRun } from './view.ts';

/** Why a run stays. */
export const KEPT_REASONS = [
  /** Somebody owns it, or it cannot be told. */
  'live',
  /** Nobody owns it, and it changed less than a day ago. */
  'orphan',
  /** Nobody owns it, and a step's job goes on. */
  'steps-run',
  /** It ended not long ago. */
  'retention',
  /** Its worktrees are not cleaned up, which is its user's to do. */
  'worktrees',
  'damaged',
  'other-schema',
] as const;
export type KeptReason = (typeof KEPT_REASONS)[number];

export interface SweepReport {
  readonly scanned: number;
  /** Orphans that became `expired`, or would. */
  readonly expired: number;
  readonly deleted: number;
  readonly bytes: number;
  readonly kept: Readonly<Partial<Record<KeptReason, number>>>;
  /** Runs that only their worktrees keep. */
  readonly withWorktrees: Bounded<string>;
  /** What was begun and never finished, and is cleared. */
  readonly leftovers: number;
  /** What should have gone and stays. */
  readonly failed: Bounded<{ readonly run: string; readonly reason: string }>;
}

export type SweepDeps = LockDeps & RemoveRunDeps;

/** Another sweep is at work: nothing was done. */
export class SweepBusyError extends OperationError {
  constructor() {
    super('runs are being swept by another process', { hint: 'try again when it is done' });
  }
}

/** @throws SweepBusyError, FileError */
export async function sweepRuns(
  place: RunsPlace,
  deps: SweepDeps,
  { dryRun = false }: { dryRun?: boolean } = {},
): Promise<SweepReport> {
  if (dryRun || !existsSync(place.root)) return sweep(newSweep(place, deps, dryRun));
  const { identity, clock } = deps;
  const { pid, host } = identity;
  const record = { pid, host, startedAt: clock.now().toISOString(), what: 'a sweep of runs' };
  const lock = tryLock(sweepLock(place), { record });
  if (lock === undefined) throw new SweepBusyError();
  try {
    return await sweep(newSweep(place, deps, dryRun));
  } finally {
    lock.release();
  }
}

interface Sweep {
  readonly place: RunsPlace;
  readonly deps: SweepDeps;
  readonly dryRun: boolean;
  readonly kept: Partial<Record<KeptReason, number>>;
  readonly withWorktrees: Bounded<string>;
  readonly failed: Bounded<{ run: string; reason: string }>;
  expired: number;
  deleted: number;
  bytes: number;
}

function newSweep(place: RunsPlace, deps: SweepDeps, dryRun: boolean): Sweep {
  const lists = { withWorktrees: boundedList<string>(), failed: boundedList<Sweep['failed']['items'][0]>() };
  return { place, deps, dryRun, kept: {}, ...lists, expired: 0, deleted: 0, bytes: 0 };
}

async function sweep(all: Sweep): Promise<SweepReport> {
  const { place, deps, dryRun, ...report } = all;
  let scanned = 0;
  for (const id of runIds(place)) {
    const directory = runDirectory(place, id);
    try {
      const view = await readRun(directory);
      if (view.kind === 'none') continue;
      scanned++;
      if (view.kind === 'run') await sweepRun(all, view);
      else keep(all, view.kind === 'damaged' ? 'damaged' : 'other-schema');
    } catch (error) {
      if (!(error instanceof PiSandboxError)) throw error;
      addTo(all.failed, { run: directory, reason: messageOf(error) });
    }
  }
  const leftovers = await sweepLeftovers(place, deps, { dryRun, failed: all.failed });
  const { expired, deleted, bytes } = all;
  return { ...report, scanned, expired, deleted, bytes, leftovers };
}

async function sweepRun(all: Sweep, run: KnownRun): Promise<void> {
  if (run.state.terminal) return sweepFinal(all, run);
  if (run.held !== false) return keep(all, 'live');
  if (!isOver(all, caredForAt(run), LIMITS.orphanSeconds)) return keep(all, 'orphan');
  if (await hasLiveJob(run.state)) return keep(all, 'steps-run');
  if (all.dryRun) all.expired++;
  else if (!(await expire(all, run))) keep(all, 'live');
}

/** Its last change, or when somebody has taken it over since. */
function caredForAt({ manifest, state }: KnownRun): string {
  const [, last = state.updatedAt] = [manifest.ownerStartedAt, state.updatedAt].sort();
  return last;
}

/** A time that cannot be read, or is in the future, is none that is over. */
function isOver({ deps }: Sweep, since: string | null, seconds: number): boolean {
  return since !== null && deps.clock.now().getTime() - Date.parse(since) >= seconds * 1_000;
}

/** Under its lock, so that it is no longer an orphan's only if nobody has taken it meanwhile. */
async function expire(all: Sweep, { directory }: KnownRun): Promise<boolean> {
  const lock = tryRunLock(directory);
  if (lock === undefined) return false;
  try {
    const run = await readRun(directory, { held: false });
    if (run.kind !== 'run' || run.state.terminal) return false;
    if (!isOver(all, caredForAt(run), LIMITS.orphanSeconds)) return false;
    const { clock } = all.deps;
    const reason = `nobody has cared for it since ${caredForAt(run)}`;
    const state = advanceRun(run.state, run.manifest.graph, { type: 'expire', reason }, clock.now());
    await writeState(directory, state);
    const journal = await openJournal(directory, clock);
    await journal.append({ type: 'run', status: state.status, reason });
    all.expired++;
    return true;
  } finally {
    lock.release();
  }
}

async function sweepFinal(all: Sweep, run: KnownRun): Promise<void> {
  const { directory, manifest, state } = run;
  if (!all.dryRun) await tellEnd(all.place, directory, state, all.deps.clock);
  if (!isOver(all, state.terminalAt, manifest.terminalRetentionSeconds)) return keep(all, 'retention');
  const worktrees = await readWorktrees(directory);
  if (worktrees.kind !== 'known') return keep(all, 'damaged');
  const isLeft = worktrees.value.some(({ cleanedUp }) => !cleanedUp);
  if (isLeft || unlistedWorktrees(directory, worktrees.value).length > 0) {
    addTo(all.withWorktrees, run.id);
    return keep(all, 'worktrees');
  }
  if (all.dryRun) {
    all.deleted++;
    return;
  }
  const lock = tryRunLock(directory);
  if (lock === undefined) return keep(all, 'live');
  try {
    const { bytes } = await removeHeldRun(all.place, run, 'retention', all.deps);
    all.deleted++;
    all.bytes += bytes;
  } finally {
    lock.release();
  }
}

/** Whoever holds or probes it now is cared about the next time. */
function tryRunLock(directory: RunDirectory): FileLock | undefined {
  return tryLock(runLock(directory));
}

/** A job outlives the owner of its run: as long as it does something, the run is not given up. */
async function hasLiveJob({ steps }: RunState): Promise<boolean> {
  for (const { status, job } of Object.values(steps)) {
    if (status === 'running' && job !== null && existsSync(job) && isLive(await readStatus(job))) return true;
  }
  return false;
}

function keep({ kept }: Sweep, reason: KeptReason): void {
  kept[reason] = (kept[reason] ?? 0) + 1;
}

/** The report as one line. */
export function sweepLine({ scanned, expired, deleted, leftovers, kept, failed }: SweepReport): string {
  const reasons = KEPT_REASONS.flatMap((reason) => (kept[reason] ? [`${reason} ${kept[reason]}`] : []));
  const stays = failed.items.length + failed.omitted;
  return [
    `scanned ${scanned}`,
    `expired ${expired}`,
    `deleted ${deleted}`,
    `kept ${Object.values(kept).reduce((sum, count) => sum + count, 0)}${reasons.length > 0 ? ` (${reasons.join(', ')})` : ''}`,
    ...(leftovers > 0 ? [`leftovers ${leftovers}`] : []),
    ...(stays > 0 ? [`failed ${stays}`] : []),
  ].join(', ');
}
