/** What is asked over an owner's socket, done (R6). The owner itself decides who may: nothing changes in between. */
import { RunError, refusalOf } from '../errors.ts';
import { describeOwner, type Mutation, mayMutate, ownershipFacts } from '../ownership.ts';
import type { RunAnswer, RunRequest } from '../protocol.ts';
import { isFinalStep, type RunState } from '../status-file.ts';
import type { Mailbox } from './messages.ts';
import type { Owned } from './options.ts';

type Mutating = Exclude<RunRequest, { op: 'watch' }>;

export function openRequests(owned: Owned, mailbox: Mailbox): (request: RunRequest) => Promise<RunAnswer> {
  return async (request) => {
    if (request.op === 'watch') return { ok: true };
    try {
      return await doIt(owned, mailbox, request);
    } catch (error) {
      const { code, message, hint } = refusalOf(error).error;
      return { ok: false, error: { code, message, ...(hint !== undefined && { hint }) } };
    }
  };
}

async function doIt(owned: Owned, mailbox: Mailbox, request: Mutating): Promise<RunAnswer> {
  const { ledger } = owned;
  const from = callerText(request.caller);
  check(owned, ledger.state, request.op, request.caller);
  if (request.op === 'message')
    return { ok: true, receipt: await mailbox.send(request.step, request.text, from) };
  const { step } = request;
  await ledger.decide((state) => {
    check(owned, state, 'cancel', request.caller);
    const reason = `canceled by ${from}`;
    if (step === undefined) return { input: { type: 'cancel', reason } };
    const there = owned.held.manifest.graph.steps.find(({ id }) => id === step);
    const status = state.steps[step]?.status;
    if (there === undefined || status === undefined)
      throw new RunError('not-found', `run ${state.runId} has no step "${step.slice(0, 100)}"`);
    if (isFinalStep(status)) throw new RunError('step-is-final', `step "${step}" has ended: it is ${status}`);
    return { input: { type: 'cancel', step: there.id, reason } };
  });
  return { ok: true };
}

function check({ held }: Owned, state: RunState, mutation: Mutation, caller: Mutating['caller']): void {
  const { manifest } = held;
  const facts = ownershipFacts(manifest, state, true);
  mayMutate(mutation, { id: manifest.runId, facts, owner: describeOwner(manifest) }, caller);
}

function callerText({ session, operator }: Mutating['caller']): string {
  if (session !== null) return `session ${session}`;
  return operator ? 'the operator' : 'an agent';
}
