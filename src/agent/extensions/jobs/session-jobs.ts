/** The jobs of one open Session: a file apart, so that a start of pi need not load the room (J12). */
import type { Clock } from '../../../lib/clock.ts';
import type { ExtensionApi, SessionEntry } from '../../../pi/index.ts';
import { type JobsHere, jobsHere } from './here.ts';
import { openTeller, type Teller } from './teller.ts';

export interface SessionNeeds {
  readonly pi: Pick<ExtensionApi, 'sendMessage'>;
  readonly session: { readonly id: string; readonly entries: readonly SessionEntry[] };
  readonly clock: Clock;
  readonly warn: (text: string) => void;
}

/** @throws BrokenJobError */
export async function openSessionJobs({
  pi,
  session,
  clock,
  warn,
}: SessionNeeds): Promise<{ here: JobsHere; teller: Teller; clock: Clock }> {
  const here = await jobsHere(session.id);
  return { here, clock, teller: openTeller({ pi, here, clock, warn, entries: session.entries }) };
}
