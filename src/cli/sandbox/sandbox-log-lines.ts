import { safeForTerminal } from '../../lib/redact.ts';

/** One line of a supervisor's log, read from a volume that a sandbox can write: nothing in it is trusted (rule 8). */
export interface LogLine {
  time: string;
  event: string;
  facts: Record<string, unknown>;
}

export function parseLogLine(line: string): LogLine | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null) return undefined;
    const { time, event, ...facts } = { time: undefined, event: undefined, ...value };
    if (typeof time !== 'string' || typeof event !== 'string' || Number.isNaN(Date.parse(time)))
      return undefined;
    return { time, event, facts };
  } catch {
    return undefined;
  }
}

/** `2026-01-31T10:00:00.000Z exited id=… code=0`, safe for a terminal. */
export function renderLogLine({ time, event, facts }: LogLine): string {
  const parts = Object.entries(facts).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return safeForTerminal([time, event, ...parts].join(' '));
}

/** Why a sandbox ended, from the last line of its log: one that was killed had no time to write the reason. */
export function endingReason({ event, facts }: LogLine): string {
  return event === 'ended'
    ? String(facts.reason ?? '')
    : 'killed, or its engine went down: its log has no end';
}
