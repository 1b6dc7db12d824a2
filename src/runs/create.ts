/**
 * Making a run (R1, R2): its directory is built under a temporary name with all files and its lock held, its id is claimed by
 * an exclusive `mkdir`, and then the directory takes the claim's place. So an id is one run's, and nobody ever sees half of one.
 */
import { chmod, mkdir, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { makeStateDirectory } from '../lib/atomic-file.ts';
import { syncDirectory } from '../lib/directory-entries.ts';
import { openDirectory } from '../lib/directory-handle.ts';
import { hasCode } from '../lib/errors.ts';
import { FileError } from '../lib/file-error.ts';
import { randomId } from '../lib/ids.ts';
import { type FileLock, tryLock } from '../lib/kernel-lock.ts';
import { RunError } from './errors.ts';
import { writeManifest, writeState, writeWorktrees } from './files.ts';
import type { HeldRun } from './held-run.ts';
import { proposeRunId, type RunId } from './ids.ts';
import { openJournal } from './journal.ts';
import { type Manifest, SCHEMA_VERSION } from './manifest.ts';
import { artifactsDirectory, type RunDirectory, type RunsPlace, runDirectory, runLock } from './places.ts';
import type { RunDeps, StartRequest } from './request.ts';
import { newRunState } from './scheduler.ts';

/** Directories that are being made; what a killed starter left of one is the sweep's. */
export const BUILDING_PREFIX = '.new-';
/** 30 random bits a second: a second collision means that something else is wrong. */
const MOST_ATTEMPTS = 100;

/**
 * Makes a run that is `queued`; the caller hands it to an owner.
 *
 * @throws RunError `failed` when the asked id is taken; FileError; nothing of it is left then
 */
export async function createRun(place: RunsPlace, request: StartRequest, deps: RunDeps): Promise<HeldRun> {
  await makeStateDirectory(place.root);
  const id = await claim(place, request.id, deps);
  const directory = runDirectory(place, id);
  const building = join(place.root, `${BUILDING_PREFIX}${randomId(16, deps.random)}`);
  let lock: FileLock | undefined;
  let placed = false;
  try {
    await makeDirectory(building);
    await makeDirectory(artifactsDirectory(building));
    const manifest = manifestOf(id, request, deps);
    lock = takeNew(building, manifest);
    const state = newRunState(id, request.graph, deps.clock.now());
    await Promise.all([
      writeManifest(building, manifest),
      writeState(building, state),
      writeWorktrees(building, []),
      firstEvent(building, deps),
    ]);
    sync(building);
    await takePlace(building, directory);
    placed = true;
    sync(place.root);
    // The file moved with its directory; the lock is on the file.
    const held = { ...lock, path: runLock(directory) };
    return { place, directory, manifest, state, lock: held };
  } catch (error) {
    // Whoever is told that it failed must not find it in the list.
    if (placed) await rename(directory, building).catch(() => undefined);
    lock?.release();
    await rm(building, { recursive: true, force: true }).catch(() => undefined);
    await rmdir(directory).catch(() => undefined);
    throw error;
  }
}

/** Whoever makes the directory has the id, and no one else ever. */
async function claim(place: RunsPlace, asked: RunId | undefined, deps: RunDeps): Promise<RunId> {
  for (let attempt = 1; ; attempt++) {
    const id = asked ?? proposeRunId(deps.clock.now(), deps.random);
    try {
      await mkdir(runDirectory(place, id), 0o700);
      return id;
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw new FileError('make directory', runDirectory(place, id), error);
      if (asked !== undefined || attempt === MOST_ATTEMPTS)
        throw new RunError('failed', `there is a run ${id} already`);
    }
  }
}

function manifestOf(runId: RunId, request: StartRequest, { clock, identity }: RunDeps): Manifest {
  const { graph, project, below, settings } = request;
  const now = clock.now().toISOString();
  return {
    schemaVersion: SCHEMA_VERSION,
    runId,
    createdAt: now,
    invocationCwd: request.cwd,
    project: project.directory,
    realProject: project.real,
    objective: graph.objective,
    graph: {
      objective: graph.objective,
      steps: graph.steps.map((step) => ({ ...step, needs: [...step.needs], after: [...step.after] })),
    },
    ...settings,
    ...below,
    schedule: request.schedule,
    uid: identity.uid,
    ownerPid: identity.pid,
    ownerSessionId: request.session,
    ownerStartedAt: now,
    ownerContainer: identity.host,
    adopted: false,
  };
}

async function firstEvent(building: RunDirectory, { clock }: RunDeps): Promise<void> {
  const journal = await openJournal(building, clock);
  await journal.append({ type: 'run', status: 'queued', reason: null });
}

async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, 0o700);
    await chmod(path, 0o700);
  } catch (error) {
    throw new FileError('make directory', path, error);
  }
}

/** Nobody else knows the directory, so the first attempt gets it. */
function takeNew(building: RunDirectory, { runId, ownerPid, ownerContainer, createdAt }: Manifest): FileLock {
  const record = { pid: ownerPid, host: ownerContainer, startedAt: createdAt, what: `run ${runId}` };
  const lock = tryLock(runLock(building), { record });
  if (lock !== undefined) return lock;
  throw new RunError('failed', `${runLock(building)} was locked while it was made`);
}

/** The claim is an empty directory, which a rename replaces in one step. */
async function takePlace(building: RunDirectory, directory: RunDirectory): Promise<void> {
  try {
    await rename(building, directory);
  } catch (error) {
    throw new FileError('make run', directory, error);
  }
}

function sync(path: string): void {
  const directory = openDirectory(path);
  try {
    syncDirectory(directory);
  } finally {
    directory.close();
  }
}
