/** What is done to a run that nobody runs, by whoever holds its lock meanwhile (R6). The lock stays held. */
import type { HeldRun } from '../held-run.ts';
import type { RunState } from '../status-file.ts';
import { openLedger } from './ledger.ts';
import { type MessageReceipt, openMailbox } from './messages.ts';
import type { OwnerDeps } from './options.ts';
import { ownRun } from './own.ts';

/**
 * Sends a text to a step of an orphan: its job may still run; else it is kept for whoever goes on.
 *
 * @throws RunError `not-found`, `step-is-final`, `limit`; FileError
 */
export async function sendToStep(
  held: HeldRun,
  { step, text, from }: { readonly step: string; readonly text: string; readonly from: string },
  deps: Pick<OwnerDeps, 'clock'>,
): Promise<MessageReceipt> {
  const ledger = await openLedger(held, deps);
  try {
    return await openMailbox({ held, deps, ledger }).send(step, text, from);
  } finally {
    await ledger.close();
  }
}

/**
 * Ends an orphan: its jobs that still run are ended, all that they leave is kept, and the run is `canceled`. Its lock is
 * free afterwards.
 *
 * @throws FileError
 */
export function endOrphan(held: HeldRun, deps: OwnerDeps, reason: string): Promise<RunState> {
  return ownRun(held, deps, { cancel: reason });
}
