import type { Clock } from '../../../lib/clock.ts';
import type { JobsHere } from './here.ts';
import type { Teller } from './teller.ts';

/** One call of the tool `multi_agent`. */
export interface JobsCall {
  readonly here: JobsHere;
  readonly teller: Teller;
  readonly clock: Clock;
  /** As the model gave them. */
  readonly parameters: unknown;
  /** Aborted when the user stops the turn. */
  readonly signal: AbortSignal | undefined;
}
