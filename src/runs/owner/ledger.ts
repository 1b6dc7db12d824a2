/**
 * How far a run has come, as its files say: one change at a time, each written to `status.json`, then to `events.jsonl`,
 * and only then told (R1). A write that fails is the end of it: what no file says has not happened.
 */
import type { Clock } from '../../lib/clock.ts';
import { OperationError } from '../../lib/errors.ts';
import { isStillTheLock } from '../../lib/kernel-lock.ts';
import type { NewEvent } from '../events.ts';
import { writeState } from '../files.ts';
import type { HeldRun } from '../held-run.ts';
import { openJournal } from '../journal.ts';
import { advanceRun, type RunInput } from '../scheduler.ts';
import type { RunState } from '../status-file.ts';
import { runEvent, stepEvent, untold } from './untold.ts';

export interface Ledger {
  /** As it is written. */
  readonly state: RunState;
  /** Number of the last event. */
  readonly seq: number;
  /**
   * A change, and what follows of it. Resolves when it is written and told.
   *
   * @param events what else is to be kept of it
   * @throws FileError, and from then on for every call
   */
  put(input: RunInput, ...events: readonly NewEvent[]): Promise<RunState>;
  /** The same with what is decided when its turn has come: what is asked for may not be possible any more. */
  decide(change: (state: RunState) => Change): Promise<RunState>;
  /** Something to be kept that changes nothing. @throws FileError */
  note(...events: readonly NewEvent[]): Promise<void>;
  /** When what was begun is written. Nothing is written afterwards: the lock is let go. */
  close(): Promise<void>;
}

export interface Change {
  readonly input: RunInput;
  readonly events?: readonly NewEvent[];
}

export interface LedgerOptions {
  readonly clock: Clock;
  /** What follows of a state by itself, until nothing does. */
  readonly next?: (state: RunState) => RunInput | undefined;
  /** After every change and note. */
  readonly onChange?: (state: RunState, seq: number) => void;
  /** Of the first write that failed. */
  readonly onFailure?: (error: unknown) => void;
}

/** @throws FileError */
export async function openLedger(
  { directory, manifest: { graph }, state: first, lock }: HeldRun,
  { clock, next = () => undefined, onChange = () => undefined, onFailure = () => undefined }: LedgerOptions,
): Promise<Ledger> {
  const journal = await openJournal(directory, clock);
  let state = first;
  let last: Promise<unknown> = Promise.resolve();
  let failure: { readonly error: unknown } | undefined;

  async function apply({ input, events = [] }: Change): Promise<void> {
    const before = state;
    const after = advanceRun(before, graph, input, clock.now());
    if (after !== before) await writeState(directory, after);
    state = after;
    const all = [...eventsBetween(before, after), ...events];
    if (all.length > 0) await journal.append(...all);
    if (after !== before || all.length > 0) onChange(state, journal.seq);
  }

  /** One after the other; none after one that failed. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = async (): Promise<T> => {
      if (failure !== undefined) throw failure.error;
      return work();
    };
    const done = last.then(turn, turn);
    last = done.catch(() => undefined);
    return done;
  }

  /** What is thrown while deciding is the asker's; what is thrown while writing is the end. */
  async function written(work: () => Promise<void>): Promise<void> {
    try {
      if (!isStillTheLock(lock))
        throw new OperationError(`${lock.path}: its lock was replaced, so another may own the run`);
      await work();
    } catch (error) {
      failure ??= { error };
      onFailure(error);
      throw error;
    }
  }

  const decide: Ledger['decide'] = (change) =>
    inTurn(async () => {
      const first = change(state);
      await written(async () => {
        await apply(first);
        for (let input = next(state); input !== undefined; input = next(state)) await apply({ input });
      });
      return state;
    });

  const missing = await untold(directory, state);
  if (missing.length > 0) await journal.append(...missing);
  return {
    get state() {
      return state;
    },
    get seq() {
      return journal.seq;
    },
    put: (input, ...events) => decide(() => ({ input, events })),
    decide,
    note: (...events) =>
      inTurn(() =>
        written(async () => {
          await journal.append(...events);
          onChange(state, journal.seq);
        }),
      ),
    async close() {
      failure ??= { error: new OperationError('the owner of the run has ended') };
      await last;
    },
  };
}

function eventsBetween(before: RunState, after: RunState): NewEvent[] {
  if (before === after) return [];
  const events: NewEvent[] = [];
  for (const [id, step] of Object.entries(after.steps)) {
    const old = before.steps[id];
    if (old?.status !== step.status || old.attempts !== step.attempts) events.push(stepEvent(id, step));
  }
  if (before.status !== after.status || before.reason !== after.reason) events.push(runEvent(after));
  return events;
}
