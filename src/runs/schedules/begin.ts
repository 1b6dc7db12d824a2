/** The run of a firing, exactly once, however often it is begun (R10): its id stands in the schedule before it is made. */
import { rmdir } from 'node:fs/promises';
import { projectFolder } from '../../jobs/index.ts';
import { openRegularFile } from '../../lib/bounded-read.ts';
import { hasCode } from '../../lib/errors.ts';
import { FileError } from '../../lib/file-error.ts';
import { readJsonLines } from '../../lib/jsonl.ts';
import { isHeld, LockTakenError, takeLock } from '../../lib/kernel-lock.ts';
import { createRun } from '../create.ts';
import { readManifest, readState } from '../files.ts';
import type { HeldRun } from '../held-run.ts';
import type { RunId } from '../ids.ts';
import { type RunDirectory, type RunsPlace, runDeletionLog, runDirectory, runLock } from '../places.ts';
import type { RunDeps, StartRequest } from '../request.ts';
import type { Schedule } from './schedule.ts';

export interface BeginDeps extends RunDeps {
  /** Hands a run that was made to an owner. When it fails, the run is taken up with the next look. */
  readonly launch: (held: HeldRun) => Promise<void>;
}

/**
 * Makes the run, or goes on where somebody who was killed has left it. Under the schedule's lock, so that nobody else makes
 * a run of that id.
 *
 * @throws RunError, FileError; whatever `launch` throws
 */
export async function beginRun(
  place: RunsPlace,
  schedule: Schedule,
  runId: RunId,
  deps: BeginDeps,
): Promise<void> {
  const directory = runDirectory(place, runId);
  const state = await readState(directory);
  if (state.kind === 'none') {
    // It has come and gone meanwhile, and is not to come again.
    if (await wasDeleted(place, runId)) return;
    await removeClaim(directory);
    const held = await createRun(place, requestOf(schedule, runId), deps);
    return handOver(held, deps);
  }
  if (state.kind !== 'known' || state.value.status !== 'queued' || isHeld(runLock(directory))) return;
  const held = await takeUp(place, directory, deps);
  if (held !== undefined) await handOver(held, deps);
}

/** Whether this id is a run already, or was one. */
export async function wasMade(place: RunsPlace, runId: RunId): Promise<boolean> {
  const state = await readState(runDirectory(place, runId));
  return state.kind !== 'none' || (await wasDeleted(place, runId));
}

/** A live run of a schedule holds the next one up; one that nobody executes does not. */
export async function goesOn(place: RunsPlace, runId: RunId | null): Promise<boolean> {
  if (runId === null) return false;
  const directory = runDirectory(place, runId);
  const state = await readState(directory);
  if (state.kind === 'none' || (state.kind === 'known' && state.value.terminal)) return false;
  return isHeld(runLock(directory));
}

async function handOver(held: HeldRun, { launch }: BeginDeps): Promise<void> {
  try {
    await launch(held);
  } catch (error) {
    held.lock.release();
    throw error;
  }
}

/** A claim without a run is that of one of us who was killed: whoever makes this id holds the schedule's lock. */
async function removeClaim(directory: RunDirectory): Promise<void> {
  try {
    await rmdir(directory);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw new FileError('remove', directory, error);
  }
}

/** A run that was made and never handed over. Undefined when somebody has taken it over meanwhile. */
async function takeUp(
  place: RunsPlace,
  directory: RunDirectory,
  { identity, clock }: RunDeps,
): Promise<HeldRun | undefined> {
  const record = {
    pid: identity.pid,
    host: identity.host,
    startedAt: clock.now().toISOString(),
    what: 'run of a schedule',
  };
  try {
    const lock = await takeLock(runLock(directory), { record });
    const [manifest, state] = await Promise.all([readManifest(directory), readState(directory)]);
    if (manifest.kind === 'known' && state.kind === 'known' && state.value.status === 'queued')
      return { place, directory, manifest: manifest.value, state: state.value, lock };
    lock.release();
  } catch (error) {
    if (!(error instanceof LockTakenError)) throw error;
  }
  return undefined;
}

/** Its files are gone; that they were there is in the log of deletions (rule 3). */
async function wasDeleted(place: RunsPlace, runId: RunId): Promise<boolean> {
  const handle = await openRegularFile(runDeletionLog(place));
  if (handle === undefined) return false;
  try {
    for await (const line of readJsonLines(handle))
      if (line.kind !== 'problem' && JSON.stringify(line.value).includes(runId)) return true;
    return false;
  } finally {
    await handle.close();
  }
}

function requestOf(schedule: Schedule, id: RunId): StartRequest {
  const { concurrency, timeoutSeconds, terminalRetentionSeconds, retry, maxCost, maxTokens } = schedule;
  return {
    graph: schedule.graph,
    project: {
      directory: schedule.project,
      real: schedule.realProject,
      folder: projectFolder(schedule.project),
    },
    cwd: schedule.cwd,
    session: null,
    below: { parentJob: null, depth: schedule.depth, maxDepth: schedule.maxDepth },
    settings: { concurrency, timeoutSeconds, terminalRetentionSeconds, retry, maxCost, maxTokens },
    schedule: schedule.scheduleId,
    id,
  };
}
