/** `multi-agent` in the project's sandbox, for the verbs that stand for it (J6, R4). */
import { UsageError } from '../../lib/errors.ts';
import { runInSandbox } from './run-in-sandbox.ts';
import type { StartOptions } from './start-options.ts';

export interface MultiAgentCall {
  /** Our verb, which is what the user has typed. */
  readonly verb: 'jobs' | 'runs';
  /** Stand before the user's words. */
  readonly before: readonly string[];
  /** Tells the program how its user calls it: what it prints can be typed where it is read (J13). */
  readonly variable: string;
  readonly terminal: boolean;
}

/** The same words, and its exit code. @throws UsageError without a word */
export function callMultiAgent(
  project: string | undefined,
  words: readonly string[],
  { verb, before, variable, terminal }: MultiAgentCall,
  options: StartOptions,
): Promise<number> {
  if (words.length === 0) {
    const program = ['multi-agent', ...before].join(' ');
    throw new UsageError(`what about its ${verb}? a word of ${program} comes after the project`, {
      hint: `pi-sandbox ${verb} . list; all words: pi-sandbox ${verb} . --help`,
    });
  }
  const command = `${variable}=pi-sandbox ${verb} ${quoted(project ?? '.')}`;
  const choice = {
    program: 'command',
    arguments: ['multi-agent', ...before, ...words],
    terminal,
  } as const;
  return runInSandbox(project, choice, { ...options, env: [...(options.env ?? []), command] });
}

/** As a shell reads it back. */
function quoted(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
