import type { Clock } from '../../lib/clock.ts';
import type { RpcLimits } from '../../pi/index.ts';
import type { PiProgram } from './pi-command.ts';

/** What a run needs of the process it runs in. */
export interface RunOptions {
  readonly clock: Clock;
  /** Random names, without characters that JSON escapes. */
  readonly ids: () => string;
  /** Of the command that started the run; the agent gets it, with what J8 adds. */
  readonly env: NodeJS.ProcessEnv;
  readonly piCommand: PiProgram;
  /** Each line of `progress.log`, as it comes. */
  readonly onProgress?: (line: string) => void;
  /**
   * The result of a run that is done, as soon as pi says so: what pi has left is still to be ended then, and the end to be
   * written, which may fail.
   */
  readonly onResult?: (text: string) => void;
  /** Aborts the run (J6). */
  readonly signal?: AbortSignal;
  /** Kills it. */
  readonly killSignal?: AbortSignal;
  readonly limits?: Partial<RpcLimits>;
}
