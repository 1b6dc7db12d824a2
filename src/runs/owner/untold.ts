/** What `status.json` says and no event does (R1): an owner was killed between the two. */
import { join } from 'node:path';
import { openRegularFile } from '../../lib/bounded-read.ts';
import type { Clock } from '../../lib/clock.ts';
import { tryLock } from '../../lib/kernel-lock.ts';
import { EVENTS_FILE, type NewEvent } from '../events.ts';
import { openJournal, readEvents } from '../journal.ts';
import { type RunDirectory, type RunsPlace, runLock } from '../places.ts';
import { removeSocket } from '../remove.ts';
import type { RunState, StepState } from '../status-file.ts';

/** A reason has 1,000 characters at most. */
const LAST_LINE_BYTES = 16 * 1_024;

export function stepEvent(step: string, { status, attempts: attempt, job, reason }: StepState): NewEvent {
  return { type: 'step', step, status, attempt, job, reason };
}

export function runEvent({ status, reason }: RunState): NewEvent {
  return { type: 'run', status, reason };
}

/** What `status.json` says and the events do not: an owner was killed between the two. */
export async function untold(run: RunDirectory, state: RunState): Promise<NewEvent[]> {
  const steps = new Map<string, string>();
  let status: string | undefined;
  for await (const line of readEvents(run)) {
    if (line.kind !== 'event') continue;
    const { event } = line;
    if (event.type === 'step') steps.set(event.step, `${event.status} ${event.attempt}`);
    else if (event.type === 'run') status = event.status;
  }
  const missing = Object.entries(state.steps).flatMap(([id, step]) => {
    const isTold = (steps.get(id) ?? 'pending 0') === `${step.status} ${step.attempts}`;
    return isTold ? [] : [stepEvent(id, step)];
  });
  return status === state.status ? missing : [...missing, runEvent(state)];
}

/**
 * Tells the end of a run that was written and not told. No owner comes after that end, so whoever sweeps does it, and takes the
 * socket away that was left with it.
 *
 * @throws FileError
 */
export async function tellEnd(
  place: RunsPlace,
  run: RunDirectory,
  state: RunState,
  clock: Clock,
): Promise<void> {
  if (await isEndTold(run, state)) return;
  const lock = tryLock(runLock(run));
  if (lock === undefined) return;
  try {
    const missing = await untold(run, state);
    if (missing.length > 0) await (await openJournal(run, clock)).append(...missing);
    removeSocket(place, run);
  } finally {
    lock.release();
  }
}

/** The last event of a run is its end, but for worktrees that were cleaned up later. */
async function isEndTold(run: RunDirectory, { status }: RunState): Promise<boolean> {
  const handle = await openRegularFile(join(run, EVENTS_FILE));
  if (handle === undefined) return false;
  try {
    const { size } = await handle.stat();
    const buffer = Buffer.alloc(Math.min(size, LAST_LINE_BYTES));
    await handle.read(buffer, 0, buffer.length, size - buffer.length);
    return buffer.includes(`"type":"run","status":"${status}"`);
  } finally {
    await handle.close();
  }
}
