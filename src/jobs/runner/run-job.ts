/** A run of a job, from a held lock to a committed end (J2-J4). */
import type { Clock } from '../../lib/clock.ts';
import { messageOf, OperationError } from '../../lib/errors.ts';
import { type Budget, openBudget } from '../budget/budget.ts';
import { readSmall, readText } from '../files.ts';
import type { HeldJob } from '../held-job.ts';
import { projectFolder } from '../names.ts';
import { slotsDirectory } from '../places.ts';
import { mostRunning, type Slot, takeSlot } from '../slots.ts';
import { drivePi, NO_RESULT } from './drive.ts';
import type { RunEnd } from './life.ts';
import type { RunOptions } from './options.ts';
import { commitRun, type Result } from './result.ts';
import { openRun, type Run } from './run.ts';
import { openSpending, type Spending } from './spending.ts';

/**
 * Sees a run of a job to its end and commits it. The job's lock is free when this returns or throws, and nothing of
 * the run lives any more.
 *
 * @throws FileError when the end could not be written: readers then find that the job has died
 */
export async function runJob(held: HeldJob, options: RunOptions): Promise<RunEnd> {
  const run = openRun(held, options);
  const over = new AbortController();
  obey(run, options.signal, 'abort-wanted', over.signal);
  obey(run, options.killSignal, 'kill-wanted', over.signal);
  let result = NO_RESULT;
  const serving = run.serve();
  try {
    result = await work(run, over.signal);
  } catch (error) {
    run.failures.note(error);
    const where = run.stopping.client ? 'runner' : 'not-started';
    run.life.happen({ type: 'gone', reason: `${where}: ${messageOf(error)}` });
  }
  over.abort();
  await serving;
  return finish(run, result);
}

function obey(
  run: Run,
  signal: AbortSignal | undefined,
  type: 'abort-wanted' | 'kill-wanted',
  over: AbortSignal,
): void {
  if (signal?.aborted) run.stopping.want({ type });
  signal?.addEventListener('abort', () => run.stopping.want({ type }), { once: true, signal: over });
}

async function work(run: Run, over: AbortSignal): Promise<Result> {
  const { held, failures } = run;
  const slot = await slotFor(run);
  if (!slot) return endBefore(run);
  const beginning = tellBeginning(run);
  try {
    const spending = await openSpending(held.directory, (error) => failures.note(error));
    const budget = budgetOf(run, spending);
    await budget.check();
    if (run.stopping.wanted.aborted) return endBefore(run);
    void endInTime(run, over);
    void budget.follow(over);
    const result = await drivePi(run, (usage) => {
      spending.add(usage);
      void budget.check();
    });
    await Promise.all([spending.settled(), budget.check()]);
    return result;
  } finally {
    slot.release();
    await beginning;
  }
}

/** What was wanted is what it is told as. */
function endBefore({ life }: Run): Result {
  life.happen({ type: 'gone', reason: 'not-started: its end was wanted before' });
  return NO_RESULT;
}

function budgetOf({ held, options, stopping, failures, tell }: Run, spending: Spending): Budget {
  return openBudget({
    held,
    clock: options.clock,
    env: options.env,
    own: () => spending.usage,
    warn: (text) => void tell({ kind: 'warning', text }),
    onSpent: (reason) => stopping.want({ type: 'given-up', reason }),
    onFailure(error) {
      failures.note(error);
      void tell({ kind: 'warning', text: `what is spent cannot be told: ${messageOf(error)}` });
    },
  });
}

/** Undefined when the end of the run is wanted before it has one. */
async function slotFor({ held, options, stopping, queued }: Run): Promise<Slot | undefined> {
  const { place, record } = held;
  const { clock, ids, env } = options;
  const directory = slotsDirectory(place, projectFolder(record.project), record.depth);
  try {
    const slot = await takeSlot(directory, {
      most: mostRunning(env),
      clock,
      ids,
      onPosition: queued,
      signal: stopping.wanted,
    });
    queued(undefined);
    return slot;
  } catch (error) {
    if (stopping.wanted.aborted) return undefined;
    throw error;
  }
}

/** More than a timer takes at once. */
const LONGEST_SLEEP_MS = 2 ** 31 - 1;

/** The time counts from when pi may run: a run that waits for a slot does not lose any (J10). */
async function endInTime({ held, options, stopping }: Run, over: AbortSignal): Promise<void> {
  const { timeoutSeconds } = held.record;
  if (timeoutSeconds === 0) return;
  try {
    await sleepUntil(options.clock, options.clock.monotonic() + timeoutSeconds * 1_000, over);
    stopping.want({ type: 'time-over' });
  } catch {
    // It ended before.
  }
}

async function sleepUntil(clock: Clock, deadline: number, signal: AbortSignal): Promise<void> {
  for (let left = deadline - clock.monotonic(); left > 0; left = deadline - clock.monotonic()) {
    await clock.sleep(Math.min(left, LONGEST_SLEEP_MS), signal);
  }
}

async function tellBeginning({ held, tell, failures }: Run): Promise<void> {
  try {
    const [runs = '1', prompt = ''] = await Promise.all([
      readSmall(held.directory, 'runs'),
      readText(held.directory, 'prompt.txt'),
    ]);
    await tell({ kind: 'run', text: `${runs} begins: ${prompt}` });
  } catch (error) {
    failures.note(error);
  }
}

async function finish(run: Run, result: Result): Promise<RunEnd> {
  const { held, options, life, failures, steering } = run;
  const { state } = life;
  const end: RunEnd = state.live ? { status: 'failed', reason: 'runner: it lost its pi' } : state;
  for (const text of steering.undelivered())
    void run.tell({ kind: 'warning', text: `it ended before: ${text}` });
  void run.tell({
    kind: 'run',
    text: `ends: ${end.status}${end.status === 'done' ? '' : `, ${end.reason}`}`,
  });
  await run.settled();
  run.retire();
  let committed: RunEnd | undefined;
  let failure: unknown;
  try {
    committed = await commitRun(held.directory, options.clock, result, {
      status: end.status,
      reason: end.reason,
    });
  } catch (error) {
    failure = error;
    failures.note(error);
    await failures.settled();
  }
  held.lock.release();
  await run.farewell(committed ?? new OperationError(`its end could not be written: ${messageOf(failure)}`));
  if (!committed) throw failure;
  return committed;
}
