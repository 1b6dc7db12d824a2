/**
 * Taking a run whose owner is gone (R6): its lock first, so that of several who try one gets it, then who owns it now is
 * written down. Never from an owner that lives.
 */
import { statSync } from 'node:fs';
import type { Clock } from '../lib/clock.ts';
import { hasCode } from '../lib/errors.ts';
import { type FileLock, LockTakenError, takeLock } from '../lib/kernel-lock.ts';
import { RunError } from './errors.ts';
import { writeManifest } from './files.ts';
import type { HeldRun } from './held-run.ts';
import { openJournal } from './journal.ts';
import type { Manifest } from './manifest.ts';
import { describeOwner, isOwn, type RunCaller } from './ownership.ts';
import { type RunDirectory, type RunsPlace, runLock } from './places.ts';
import { type KnownRun, readKnownRun } from './view.ts';

/** Of whoever takes a lock: its identity is written beside it. */
export interface LockDeps {
  readonly clock: Clock;
  readonly identity: { readonly pid: number; readonly host: string };
}

/** The lock of a run, whatever its files say. @throws RunError `run-is-live`, `not-found`; FileError */
export async function lockRun(
  directory: RunDirectory,
  id: string,
  { clock, identity }: LockDeps,
): Promise<FileLock> {
  const { pid, host } = identity;
  const record = { pid, host, startedAt: clock.now().toISOString(), what: `run ${id}` };
  try {
    return await takeLock(runLock(directory), { record, clock });
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR'))
      throw new RunError('not-found', `there is no run ${id} any more`);
    if (!(error instanceof LockTakenError)) throw error;
    const { record: holder } = error;
    const who = holder ? `process ${holder.pid} on ${holder.host} since ${holder.startedAt}` : 'a process';
    throw new RunError('run-is-live', `run ${id} is held by ${who}`, {
      hint: `multi-agent runs show ${id} shows what it does`,
    });
  }
}

/** A run that can be read, under its lock, as it is once nobody else can change it. @throws as {@link lockRun} and `readKnownRun` */
export async function holdRun(place: RunsPlace, directory: RunDirectory, deps: LockDeps): Promise<HeldRun> {
  const { id } = await readKnownRun(directory);
  const lock = await lockRun(directory, id, deps);
  try {
    const { manifest, state } = await readKnownRun(directory);
    return { place, directory, manifest, state, lock };
  } catch (error) {
    lock.release();
    throw error;
  }
}

export interface TakeOptions {
  /** Also when somebody else has taken it before and does not run it. */
  readonly force?: boolean;
  /** Whoever takes it goes on with its graph. */
  readonly goOn?: boolean;
  /** What becomes of a step whose job has died, from now on. */
  readonly retry?: Manifest['retry'];
}

/**
 * Makes an orphan the caller's, and holds its lock: whoever calls lets go of it, or hands it to an owner.
 *
 * @throws RunError `run-is-live`, `run-is-final`, `owned-by-other` when somebody else was first; FileError
 */
export async function takeOwnership(
  place: RunsPlace,
  directory: RunDirectory,
  caller: RunCaller,
  { force = false, goOn = false, retry, ...deps }: LockDeps & TakeOptions,
): Promise<HeldRun> {
  const run = await readKnownRun(directory);
  refuseFinal(run);
  if (goOn) refuseAbroad(run);
  const held = await holdRun(place, directory, deps);
  try {
    const { manifest: before, state, lock } = held;
    const { runId } = before;
    refuseFinal({ id: runId, state });
    if (before.adopted && !isOwn(before.ownerSessionId, caller) && !force) {
      throw new RunError('owned-by-other', `run ${runId} was taken before, by ${describeOwner(before)}`, {
        hint: `multi-agent runs take-ownership --force ${runId} takes it all the same`,
        details: { ownerSessionId: before.ownerSessionId },
      });
    }
    const now = deps.clock.now().toISOString();
    const manifest: Manifest = { ...before, ...ownerOf(caller, deps, now), retry: retry ?? before.retry };
    await writeManifest(directory, manifest);
    await tell(directory, before, manifest, deps);
    return { place, directory, manifest, state, lock };
  } catch (error) {
    held.lock.release();
    throw error;
  }
}

function ownerOf({ session }: RunCaller, { identity }: LockDeps, now: string) {
  return {
    ownerPid: identity.pid,
    ownerSessionId: session,
    ownerContainer: identity.host,
    ownerStartedAt: now,
    adopted: true,
  };
}

async function tell(
  directory: RunDirectory,
  before: Manifest,
  { ownerSessionId, ownerPid, ownerContainer }: Manifest,
  { clock }: LockDeps,
): Promise<void> {
  const journal = await openJournal(directory, clock);
  await journal.append({
    type: 'owner',
    session: ownerSessionId,
    pid: ownerPid,
    container: ownerContainer,
    before: before.ownerSessionId,
  });
}

/** Another project's sandbox has the domain's runs too, and not the directories that they work in: each step would fail. */
function refuseAbroad({ id, manifest: { invocationCwd } }: KnownRun): void {
  if (statSync(invocationCwd, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new RunError('failed', `run ${id} works in ${invocationCwd}, and there is no such directory here`, {
    hint: `go on with it in the sandbox of its own project; multi-agent runs cancel --force ${id} ends it here too`,
  });
}

function refuseFinal({ id, state }: Pick<KnownRun, 'id' | 'state'>): void {
  if (!state.terminal) return;
  throw new RunError('run-is-final', `run ${id} has ended (${state.status}), so nobody need own it`, {
    hint: `multi-agent runs show ${id} shows how`,
  });
}
