import { messageOf, PiSandboxError } from '../../lib/errors.ts';
import { safeForTerminal } from '../../lib/redact.ts';

/**
 * The one place where a failure is printed (rule 5): what failed, on what, the next step; a stack only on request.
 *
 * @returns the exit code
 */
export function reportError(error: unknown, options: { debug: boolean }): number {
  const known = error instanceof PiSandboxError;
  process.stderr.write(`pi-sandbox: ${safeForTerminal(messageOf(error))}\n`);
  if (known && error.hint !== undefined) process.stderr.write(indented(error.hint));
  if (options.debug && error instanceof Error)
    process.stderr.write(`${safeForTerminal(error.stack ?? '', { lines: true })}\n`);
  else if (!known) process.stderr.write('  this is a fault of pi-sandbox itself: --debug shows where\n');
  return known ? error.exitCode : 1;
}

/** A hint may be several lines, such as a list of what was tried. */
function indented(hint: string): string {
  return safeForTerminal(hint.trimEnd(), { lines: true }).replace(/^/gm, '  ').concat('\n');
}

export function warn(line: string): void {
  process.stderr.write(`pi-sandbox: warning: ${safeForTerminal(line)}\n`);
}

export function info(line: string): void {
  process.stderr.write(`pi-sandbox: ${safeForTerminal(line)}\n`);
}
