/** Lines that are no failure; `lib/report-error.ts` prints those. */
import { safeForTerminal } from '../../lib/redact.ts';

export function warn(line: string): void {
  process.stderr.write(`pi-sandbox: warning: ${safeForTerminal(line)}\n`);
}

export function info(line: string): void {
  process.stderr.write(`pi-sandbox: ${safeForTerminal(line)}\n`);
}
