/** What `multi-agent-owner` does: take over a run that was handed to it, and see it to its end (R6, R7). */
import { closeSync, fstatSync, statSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { systemClock } from '../../lib/clock.ts';
import { EXIT, messageOf, OperationError } from '../../lib/errors.ts';
import { inheritedLock } from '../../lib/kernel-lock.ts';
import { readManifest, readState } from '../files.ts';
import type { HeldRun } from '../held-run.ts';
import type { FileFacts } from '../manifest.ts';
import { type RunDirectory, type RunsPlace, runLock, runsPlace } from '../places.ts';
import type { RunDeps } from '../request.ts';
import { misfitOf } from '../status-file.ts';
import { SweepBusyError, sweepRuns } from '../sweep.ts';
import { OWNER_LOCK_FD, openOwnerLog } from './launch.ts';
import type { OwnerDeps } from './options.ts';
import { ownRun } from './own.ts';

/** Its run has no end: whoever takes it up goes on (R7). */
const GIVEN_UP = 70;
/** What repeats itself need not fill a disk. */
const MOST_NOTES = 100;

export type ProgramParts = Pick<OwnerDeps, 'runner' | 'shippedProfiles'>;

/** The exit code; nobody waits for it but whoever looks at processes. */
export async function ownerProgram(
  process: NodeJS.Process,
  home: string,
  parts: ProgramParts,
): Promise<number> {
  const [, , directory] = process.argv;
  if (directory === undefined) {
    process.stderr.write('multi-agent-owner is started by multi-agent, with a run directory\n');
    return EXIT.usage;
  }
  let noted = 0;
  const onFailure = (error: unknown): void => {
    if (++noted <= MOST_NOTES) noteSync(directory, error);
  };
  // Nobody hears it otherwise; the jobs go on, and the run is an orphan.
  process.on('uncaughtException', (error) => {
    onFailure(error);
    process.exit(GIVEN_UP);
  });
  try {
    const { env, pid } = process;
    const identity = { pid, host: env.PI_SANDBOX_NAME ?? hostname(), uid: process.getuid?.() ?? 0 };
    const held = await takeOver(directory, env, home);
    await ownRun(held, {
      ...parts,
      clock: systemClock,
      env,
      identity,
      sweep: () => swept(held.place, { clock: systemClock, identity }),
      onFailure,
    });
    return 0;
  } catch (error) {
    onFailure(error);
    return GIVEN_UP;
  }
}

/** That another process is at it is as good. */
async function swept(place: RunsPlace, deps: RunDeps): Promise<void> {
  try {
    await sweepRuns(place, deps);
  } catch (error) {
    if (!(error instanceof SweepBusyError)) throw error;
  }
}

async function takeOver(directory: RunDirectory, env: NodeJS.ProcessEnv, home: string): Promise<HeldRun> {
  const path = runLock(directory);
  const [open, there] = [fstatSync(OWNER_LOCK_FD), statSync(path)];
  if (open.ino !== there.ino || open.dev !== there.dev) {
    throw new OperationError(`descriptor ${OWNER_LOCK_FD} is not ${path}`);
  }
  const manifest = known(await readManifest(directory), directory);
  const state = known(await readState(directory), directory);
  const misfit = misfitOf(state, manifest.graph);
  if (misfit !== undefined) throw new OperationError(`the run in ${directory} cannot be run: ${misfit}`);
  return {
    place: runsPlace(env, home),
    directory,
    manifest,
    state,
    lock: inheritedLock(path, OWNER_LOCK_FD),
  };
}

function known<T>(facts: FileFacts<T>, directory: RunDirectory): T {
  if (facts.kind === 'known') return facts.value;
  const reason = facts.kind === 'damaged' ? facts.reason : `its files are ${facts.kind}`;
  throw new OperationError(`the run in ${directory} cannot be run: ${reason}`);
}

/** `owner.log` has all that an owner cannot say to anybody. */
function noteSync(directory: RunDirectory, error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
  try {
    const log = openOwnerLog(directory);
    writeSync(log, `${new Date().toISOString()} ${text}\n`);
    closeSync(log);
  } catch {
    // The disk is full, or the run's directory is gone: its free lock says enough.
  }
}
