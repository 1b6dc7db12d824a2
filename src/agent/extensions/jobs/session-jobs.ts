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
  /** A person, or a program that talks with it, drives this pi, and no prompt of its own follows. */
  readonly isConversation: boolean;
}

/** @throws BrokenJobError */
export async function openSessionJobs({
  pi,
  session,
  clock,
  warn,
  isConversation,
}: SessionNeeds): Promise<{ here: JobsHere; teller: Teller; clock: Clock; wakes: boolean }> {
  const here = await jobsHere(session.id);
  // A job's own pi, too, gets a prompt as soon as it is there.
  const wakes = isConversation && here.caller.parent === undefined;
  return {
    here,
    clock,
    wakes,
    teller: openTeller({ pi, here, clock, warn, wakes, entries: session.entries }),
  };
}
