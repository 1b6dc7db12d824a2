/** What an owner is given: all that it does not decide itself. */
import type { LaunchOptions } from '../../jobs/index.ts';
import type { Clock } from '../../lib/clock.ts';
import type { RandomSource } from '../../lib/ids.ts';
import type { Step } from '../graph/graph.ts';
import type { HeldRun } from '../held-run.ts';
import type { Ledger } from './ledger.ts';

export interface OwnerDeps {
  readonly clock: Clock;
  readonly random?: RandomSource;
  /** Of the owner: the agents get it too (J8). */
  readonly env: NodeJS.ProcessEnv;
  /** For people to read. */
  readonly identity: { readonly pid: number; readonly host: string };
  /** Node, and the program `multi-agent-runner`. */
  readonly runner: LaunchOptions['runner'];
  /** Directory of the profiles that come with the program (J7). */
  readonly shippedProfiles: string;
  /** Git worktrees of steps that want one (R5). */
  readonly worktrees?: StepWorktrees;
  /** Clears old runs away (R9). */
  readonly sweep?: (signal: AbortSignal) => Promise<unknown>;
  /** Where an owner's own failures go. */
  readonly onFailure?: (error: unknown) => void;
}

/** Worktrees of one run. */
export interface StepWorktrees {
  /** Where the step works; made already, it is that one. @param from where it would work without */
  make(step: Step, from: string): Promise<{ readonly cwd: string }>;
  /** Keeps what the step has changed. @returns why git cannot tell it. @throws FileError */
  writeDiff(step: Step): Promise<string | undefined>;
}

/** A run with its owner's means, as the parts of an owner share it. */
export interface Owned {
  readonly held: HeldRun;
  readonly deps: OwnerDeps;
  readonly ledger: Ledger;
  /** Of its end, however that comes: nothing more is waited for then. */
  readonly over: AbortSignal;
}
