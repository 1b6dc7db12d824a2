import { runInSandbox } from '../sandbox/run-in-sandbox.ts';
import type { StartOptions } from '../sandbox/start-options.ts';

/**
 * Runs pi on a project in its sandbox (S14): in the user's terminal, or, for `-p`, the JSON and RPC modes and piped
 * streams, with pi's own bytes passed through.
 */
export function start(
  project: string | undefined,
  piArguments: string[],
  options: StartOptions,
): Promise<number> {
  const terminal = isTerminal() && !isPrintMode(piArguments);
  return runInSandbox(project, { program: 'pi', arguments: piArguments, terminal }, options);
}

/** Both ends of the conversation are a terminal. */
export function isTerminal(): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true;
}

/** As pi itself decides it from its arguments. */
function isPrintMode(piArguments: readonly string[]): boolean {
  return piArguments.some((argument, at) => {
    if (argument === '-p' || argument === '--print') return true;
    const mode = argument.startsWith('--mode=') ? argument.slice('--mode='.length) : piArguments[at + 1];
    return argument.startsWith('--mode') && (mode === 'json' || mode === 'rpc');
  });
}
