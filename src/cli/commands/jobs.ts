import { callMultiAgent } from '../sandbox/multi-agent.ts';
import type { StartOptions } from '../sandbox/start-options.ts';
import { isTerminal } from './start.ts';

/** The project's jobs: `multi-agent` in its sandbox, with the same words and its exit code (J6). */
export function jobs(
  project: string | undefined,
  words: readonly string[],
  options: StartOptions,
): Promise<number> {
  const call = { verb: 'jobs', before: [], variable: 'PI_SANDBOX_JOBS_COMMAND' } as const;
  return callMultiAgent(project, words, { ...call, terminal: isTerminal() }, options);
}
