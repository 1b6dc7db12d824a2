/** The time that a run may take (R3): however often its owners die, what they had of it together. */
import { readEvents } from '../journal.ts';
import type { RunDirectory } from '../places.ts';
import { isFinalStep } from '../status-file.ts';
import type { Owned } from './options.ts';

/** More than a timer takes at once. */
const LONGEST_SLEEP_MS = 2 ** 31 - 1;

/** Gives the run up when its time is over; ends when the run does. */
export async function keepTime({ held, deps, ledger, over }: Owned): Promise<void> {
  const { clock } = deps;
  const { timeoutSeconds } = held.manifest;
  const begun = clock.monotonic();
  const spent = Math.min(await ownedSoFar(held.directory), timeoutSeconds * 1_000);
  const deadline = begun + timeoutSeconds * 1_000 - spent;
  for (let left = deadline - clock.monotonic(); left > 0; left = deadline - clock.monotonic()) {
    await clock.sleep(Math.min(left, LONGEST_SLEEP_MS), over).catch(() => undefined);
    if (over.aborted) return;
  }
  const open = Object.values(ledger.state.steps).filter(({ status }) => !isFinalStep(status)).length;
  await ledger.put({
    type: 'give-up',
    reason: `timeout: its ${timeoutSeconds} s were over, with ${open} steps open`,
  });
}

/** Milliseconds. What lies before an owner begins nobody had it; a clock that was set back in between takes nothing away. */
async function ownedSoFar(run: RunDirectory): Promise<number> {
  let sum = 0;
  let last: number | undefined;
  for await (const line of readEvents(run)) {
    if (line.kind !== 'event') continue;
    const { event } = line;
    const at = Date.parse(event.at);
    if (!Number.isFinite(at)) continue;
    const begins = event.type === 'owner' || (event.type === 'run' && event.status === 'running');
    if (last !== undefined && !begins) sum += Math.max(0, at - last);
    last = at;
  }
  return sum;
}
