import { runInSandbox } from '../sandbox/run-in-sandbox.ts';
import type { StartOptions } from '../sandbox/start-options.ts';
import { isTerminal } from './start.ts';

/** A shell in the project's sandbox with everything a Session there has, or one command instead of it (S15). */
export function shell(
  project: string | undefined,
  command: string[],
  options: StartOptions & { root?: boolean },
): Promise<number> {
  if (options.root === true)
    return import('./shell-root.ts').then((module) => module.shellAsRoot(project, command, options));
  const program = command.length > 0 ? 'command' : 'shell';
  return runInSandbox(project, { program, arguments: command, terminal: isTerminal() }, options);
}
