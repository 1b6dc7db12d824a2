import { messageOf, PiSandboxError } from './errors.ts';
import { safeForTerminal } from './redact.ts';

/**
 * The one place where a failure is printed (rule 5): what failed, on what, the next step; a stack only on request.
 *
 * @param program the command's name, which stands before the line
 * @returns the exit code
 */
export function reportError(error: unknown, options: { debug: boolean; program?: string }): number {
  const known = error instanceof PiSandboxError;
  process.stderr.write(`${options.program ?? 'pi-sandbox'}: ${safeForTerminal(messageOf(error))}\n`);
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
