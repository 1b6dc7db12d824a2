/** Texts for steps: put into the turn of one that runs, kept for one that is to begin (R3). */
import { askJob, isLive, readStatus } from '../../jobs/index.ts';
import { RunError } from '../errors.ts';
import type { Step } from '../graph/graph.ts';
import { LIMITS } from '../limits.ts';
import { isFinalStep, type RunState, type StepState } from '../status-file.ts';
import type { Owned } from './options.ts';
import { LATE, messagesOf } from './prompt.ts';
import { stepJob } from './step-job.ts';

export type MessageReceipt = 'queued' | 'delivered' | 'kept';

export interface Mailbox {
  /**
   * @param from who says it, for people to read
   * @throws RunError `not-found`, `step-is-final`, `limit`
   */
  send(step: string, text: string, from: string): Promise<MessageReceipt>;
  /** A job takes texts from now on: what was kept for it meanwhile is put in. */
  deliver(step: Step): Promise<void>;
}

export function openMailbox({
  held,
  deps: { clock },
  ledger,
}: Pick<Owned, 'held' | 'ledger'> & { readonly deps: Pick<Owned['deps'], 'clock'> }): Mailbox {
  const { directory, place, manifest } = held;
  /** One after the other for each step: its number of messages is limited, and none is kept behind a delivery's back. */
  const turns = new Map<string, Promise<unknown>>();

  /** Undefined when nothing there takes it now. */
  async function put(step: Step, text: string): Promise<'queued' | 'delivered' | undefined> {
    const job = stepJob(held, step);
    if (!isLive(await readStatus(job))) return undefined;
    const answer = await askJob(place.jobs, job, { op: 'steer', text }, { clock }).catch(() => undefined);
    if (answer?.ok !== true) return undefined;
    const { receipt } = answer;
    return receipt === 'queued' || receipt === 'delivered' ? receipt : undefined;
  }

  async function sendOne(id: string, text: string, from: string): Promise<MessageReceipt> {
    const step = manifest.graph.steps.find((one) => one.id === id);
    if (step === undefined)
      throw new RunError('not-found', `run ${manifest.runId} has no step "${id.slice(0, 100)}"`);
    checkMessage(ledger.state, step, text);
    const isRunning = ledger.state.steps[step.id]?.status === 'running';
    const receipt = (isRunning ? await put(step, text) : undefined) ?? 'kept';
    await ledger.decide((state) => {
      if (receipt === 'kept') checkMessage(state, step, text);
      const event = { type: 'message', step: step.id, text, from, receipt } as const;
      return { input: { type: 'message', step: step.id }, events: [event] };
    });
    return receipt;
  }

  async function deliverKept(step: Step): Promise<void> {
    if ((ledger.state.steps[step.id]?.messages ?? 0) === 0) return;
    for (const { text, from, receipt, isLate } of await messagesOf(directory, step.id)) {
      if (receipt !== 'kept' || !isLate) continue;
      if ((await put(step, text)) !== undefined)
        await ledger.note({ type: 'message', step: step.id, text, from, receipt: LATE });
    }
  }

  function inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
    const done = (turns.get(id) ?? Promise.resolve()).then(work, work);
    turns.set(
      id,
      done.catch(() => undefined),
    );
    return done;
  }

  return {
    send: (id, text, from) => inTurn(id, () => sendOne(id, text, from)),
    // One that is just being kept is in the events then; nobody would look for it again.
    deliver: (step) => inTurn(step.id, () => deliverKept(step)),
  };
}

/** @throws RunError */
function checkMessage(state: RunState, { id }: Step, text: string): void {
  const step: StepState | undefined = state.steps[id];
  if (step === undefined || state.terminal || isFinalStep(step.status))
    throw new RunError('step-is-final', `step "${id}" has ended: it is ${step?.status ?? 'gone'}`, {
      hint: `multi-agent runs step-result ${state.runId} ${id}`,
    });
  const bytes = Buffer.byteLength(text);
  if (bytes > LIMITS.messageBytes)
    throw new RunError('limit', `the message has ${bytes} bytes; ${LIMITS.messageBytes} is the most`, {
      hint: 'put it into a file of the project, and say where',
    });
  if (step.messages >= LIMITS.messages)
    throw new RunError('limit', `step "${id}" was sent ${step.messages} messages, and more it does not take`);
}
