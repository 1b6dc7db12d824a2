import { UsageError } from '../../lib/errors.ts';
import { runInSandbox } from '../sandbox/run-in-sandbox.ts';
import type { StartOptions } from '../sandbox/start-options.ts';
import { isTerminal } from './start.ts';

/** The project's jobs: `multi-agent` in its sandbox, with the same words and its exit code (J6). */
export function jobs(
  project: string | undefined,
  words: readonly string[],
  options: StartOptions,
): Promise<number> {
  if (words.length === 0) {
    throw new UsageError('what about its jobs? a word of multi-agent comes after the project', {
      hint: 'pi-sandbox jobs . list; all words: pi-sandbox jobs . --help',
    });
  }
  // What is printed can be typed where it is read (J13).
  const command = `PI_SANDBOX_JOBS_COMMAND=pi-sandbox jobs ${quoted(project ?? '.')}`;
  const choice = {
    program: 'command',
    arguments: ['multi-agent', ...words],
    terminal: isTerminal(),
  } as const;
  return runInSandbox(project, choice, { ...options, env: [...(options.env ?? []), command] });
}

/** As a shell reads it back. */
function quoted(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
