/** Events on standard output as they come, until the run has ended or whoever reads has seen enough (R8). */
import { jsonText } from '../../lib/json-text.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { type Followed, followEvents, type RunDirectory } from '../../runs/index.ts';
import { RUNS_CALLED_AS } from './called-as.ts';
import type { RunContext } from './context.ts';
import { eventText } from './event-text.ts';

/** Aborted by Ctrl-C, and when nobody reads any more. */
export function untilStopped(): AbortSignal {
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  process.once('SIGTERM', () => stop.abort());
  process.stdout.once('error', () => stop.abort());
  return stop.signal;
}

export async function streamEvents(
  { place, deps }: RunContext,
  directory: RunDirectory,
  {
    after = 0,
    json = false,
    signal = untilStopped(),
  }: { after?: number; json?: boolean; signal?: AbortSignal },
): Promise<void> {
  for await (const line of followEvents(place, directory, { after, clock: deps.clock, signal })) {
    if (line.kind === 'event')
      process.stdout.write(`${json ? jsonText(line.event) : eventText(line.event)}\n`);
    else process.stderr.write(`multi-agent: ${safeForTerminal(noteText(line))}\n`);
  }
}

function noteText(line: Exclude<Followed, { kind: 'event' }>): string {
  if (line.kind === 'problem') return `line ${line.line} of the events: ${line.reason}`;
  return line.gone
    ? `nobody owns the run any more: ${RUNS_CALLED_AS} take-ownership --continue goes on with it`
    : 'the run has an owner again';
}
