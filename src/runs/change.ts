/**
 * What is asked of a run from outside (R6): of its owner, who decides; of an orphan whoever asks does it under its lock. Nothing
 * changes hands meanwhile that is not looked at again.
 */
import { RunError } from './errors.ts';
import type { HeldRun } from './held-run.ts';
import { cancelStep } from './owner/cancel.ts';
import { type AskedRun, askRun } from './owner/client.ts';
import type { MessageReceipt } from './owner/messages.ts';
import type { OwnerDeps } from './owner/options.ts';
import { endOrphan, sendToStep } from './owner/orphan.ts';
import { callerText, describeOwner, type Mutation, mayMutate, type RunCaller } from './ownership.ts';
import type { RunDirectory, RunsPlace } from './places.ts';
import type { RunAnswer } from './protocol.ts';
import { holdRun } from './take.ts';
import { factsOf, type KnownRun, readKnownRun } from './view.ts';

/** An owner that dies while it is asked leaves an orphan, and one that is taken up meanwhile has an owner. */
const MOST_TURNS = 3;

export interface ChangeOptions {
  readonly caller: RunCaller;
  readonly force: boolean;
}

/**
 * Sends a text to a step.
 *
 * @throws RunError by R6's table; `step-is-final`, `limit`, `not-found`, `timeout`
 */
export function messageRun(
  place: RunsPlace,
  directory: RunDirectory,
  { step, text, ...options }: ChangeOptions & { readonly step: string; readonly text: string },
  deps: OwnerDeps,
): Promise<MessageReceipt> {
  return changing(place, directory, 'message', options, deps, {
    async live(ask) {
      const { receipt = 'queued' } = await ask({ op: 'message', caller: asked(options), step, text });
      return receipt;
    },
    orphan: (held) => sendToStep(held, { step, text, from: callerText(options.caller) }, deps),
  });
}

/**
 * Ends a run, or one of its steps. Of a run with an owner it resolves when it is written down; the end comes later.
 *
 * @throws RunError by R6's table; `step-is-final`, `not-found`, `timeout`
 */
export function cancelRun(
  place: RunsPlace,
  directory: RunDirectory,
  { step, ...options }: ChangeOptions & { readonly step?: string | undefined },
  deps: OwnerDeps,
): Promise<void> {
  const reason = `canceled by ${callerText(options.caller)}`;
  return changing(place, directory, 'cancel', options, deps, {
    async live(ask) {
      await ask({ op: 'cancel', caller: asked(options), ...(step === undefined ? {} : { step }) });
    },
    async orphan(held) {
      if (step === undefined) await endOrphan(held, deps, reason);
      else await cancelStep(held, step, reason, deps);
    },
  });
}

function asked({ caller, force }: ChangeOptions): RunCaller & { force: boolean } {
  return { ...caller, force };
}

interface Ways<T> {
  live(ask: (request: AskedRun) => Promise<Extract<RunAnswer, { ok: true }>>): Promise<T>;
  orphan(held: HeldRun): Promise<T>;
}

async function changing<T>(
  place: RunsPlace,
  directory: RunDirectory,
  mutation: Mutation,
  options: ChangeOptions,
  deps: OwnerDeps,
  ways: Ways<T>,
): Promise<T> {
  const ask = async (request: AskedRun): Promise<Extract<RunAnswer, { ok: true }>> => {
    const answer = await askRun(place, directory, request, { clock: deps.clock });
    if (answer.ok) return answer;
    const { code, message, hint } = answer.error;
    throw new RunError(code, message, hint === undefined ? {} : { hint });
  };
  for (let turn = 1; ; turn++) {
    const run = await readKnownRun(directory);
    try {
      if (run.held === true) return await ways.live(ask);
      check(mutation, run, options);
      return await underLock(place, run, mutation, options, deps, ways);
    } catch (error) {
      const changedHands = run.held === true ? isRefusal(error, 'orphan') : isRefusal(error, 'run-is-live');
      if (!changedHands || turn === MOST_TURNS) throw error;
    }
  }
}

async function underLock<T>(
  place: RunsPlace,
  { id, directory }: KnownRun,
  mutation: Mutation,
  options: ChangeOptions,
  deps: OwnerDeps,
  ways: Ways<T>,
): Promise<T> {
  const held = await holdRun(place, directory, deps);
  try {
    const { manifest, state } = held;
    check(mutation, { kind: 'run', id, directory, manifest, state, held: false }, options);
    return await ways.orphan(held);
  } finally {
    held.lock.release();
  }
}

function check(mutation: Mutation, run: KnownRun, options: ChangeOptions): void {
  const { id, manifest } = run;
  mayMutate(mutation, { id, facts: factsOf(run), owner: describeOwner(manifest) }, asked(options));
}

function isRefusal(error: unknown, code: RunError['code']): boolean {
  return error instanceof RunError && error.code === code;
}
