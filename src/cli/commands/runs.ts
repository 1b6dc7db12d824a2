import { callMultiAgent } from '../sandbox/multi-agent.ts';
import type { StartOptions } from '../sandbox/start-options.ts';
import { isTerminal } from './start.ts';

/** The project's runs: `multi-agent runs` in its sandbox, with the same words and its exit code (R4). */
export function runs(
  project: string | undefined,
  words: readonly string[],
  options: StartOptions,
): Promise<number> {
  const call = { verb: 'runs', before: ['runs'], variable: 'PI_SANDBOX_RUNS_COMMAND' } as const;
  return callMultiAgent(project, words, { ...call, terminal: isTerminal() }, options);
}
