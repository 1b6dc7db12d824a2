/** The end of a run, or of one of its steps, as it is asked for (R3, R6). */
import { askJob, isLive, JobNotRunningError, readStatus } from '../../jobs/index.ts';
import { RunError } from '../errors.ts';
import type { HeldRun } from '../held-run.ts';
import type { RunInput } from '../scheduler.ts';
import { isFinalStep, type RunState } from '../status-file.ts';
import { openLedger } from './ledger.ts';
import type { OwnerDeps } from './options.ts';
import { stepJob } from './step-job.ts';

/** @throws RunError `not-found`, `step-is-final` */
export function cancelInput(
  { manifest: { runId, graph } }: Pick<HeldRun, 'manifest'>,
  state: RunState,
  step: string | undefined,
  reason: string,
): RunInput {
  if (step === undefined) return { type: 'cancel', reason };
  const there = graph.steps.find(({ id }) => id === step);
  const status = state.steps[step]?.status;
  if (there === undefined || status === undefined)
    throw new RunError('not-found', `run ${runId} has no step "${step.slice(0, 100)}"`);
  if (isFinalStep(status)) throw new RunError('step-is-final', `step "${step}" has ended: it is ${status}`);
  return { type: 'cancel', step: there.id, reason };
}

/**
 * Of an orphan: one that has not begun never will; the job of one that runs is ended, and the next owner finds it so. The lock stays
 * held.
 *
 * @throws RunError `not-found`, `step-is-final`; FileError
 */
export async function cancelStep(
  held: HeldRun,
  id: string,
  reason: string,
  deps: Pick<OwnerDeps, 'clock'>,
): Promise<void> {
  const ledger = await openLedger(held, deps);
  try {
    await ledger.decide((state) => ({ input: cancelInput(held, state, id, reason) }));
  } finally {
    await ledger.close();
  }
  const step = held.manifest.graph.steps.find((one) => one.id === id);
  if (step === undefined || ledger.state.steps[id]?.status !== 'running') return;
  const job = stepJob(held, step);
  if (!isLive(await readStatus(job))) return;
  try {
    await askJob(held.place.jobs, job, { op: 'kill' }, { clock: deps.clock });
  } catch (error) {
    if (!(error instanceof JobNotRunningError)) throw error;
  }
}
