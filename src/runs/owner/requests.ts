/** What is asked over an owner's socket, done (R6). The owner itself decides who may: nothing changes in between. */
import { refusalOf } from '../errors.ts';
import { callerText, describeOwner, type Mutation, mayMutate, ownershipFacts } from '../ownership.ts';
import type { RunAnswer, RunRequest } from '../protocol.ts';
import type { RunState } from '../status-file.ts';
import { cancelInput } from './cancel.ts';
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
    return { input: cancelInput(owned.held, state, step, reason) };
  });
  return { ok: true };
}

function check({ held }: Owned, state: RunState, mutation: Mutation, caller: Mutating['caller']): void {
  const { manifest } = held;
  const facts = ownershipFacts(manifest, state, true);
  mayMutate(mutation, { id: manifest.runId, facts, owner: describeOwner(manifest) }, caller);
}
