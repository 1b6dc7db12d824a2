import type { KnownRun } from '../../../runs/index.ts';
import type { RunContext } from '../../runs/context.ts';
import type { Asked } from '../jobs/asked.ts';
import type { JobsHere } from '../jobs/here.ts';
import type { Told } from '../jobs/told.ts';
import type { Aliases, StartedRun } from './aliases.ts';
import type { TeamAction } from './parameters.ts';
import type { RunTeller } from './run-teller.ts';

/** The runs of one open Session. */
export interface Team {
  readonly here: RunContext;
  readonly jobs: JobsHere;
  readonly told: Told;
  readonly teller: RunTeller;
  readonly aliases: Aliases;
}

/** One call of the tool `agent_team`. */
export interface TeamCall extends Team {
  readonly asked: Asked<TeamAction>;
  /** Aborted when the user stops the turn. */
  readonly signal: AbortSignal | undefined;
}

export interface TeamReply {
  /** Beside `ok: true`. */
  readonly facts: object;
  /** Says all of it in a shell, where it is too long here. */
  readonly command: string;
  readonly started?: StartedRun;
  /** The run that it is about: what its jobs have used counts from now on. */
  readonly run?: KnownRun;
  /** How that one stands is told too: so its end need not be told again. */
  readonly tellsState?: boolean;
}
