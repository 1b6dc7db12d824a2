import { type RunEvent, readEvents } from '../../runs/index.ts';
import { answering } from './answering.ts';
import { runContext } from './context.ts';
import { eventText } from './event-text.ts';
import { knownRunNamed } from './named.ts';
import { streamEvents } from './stream.ts';

interface EventsOptions {
  readonly after?: number;
  readonly limit?: number;
  readonly follow?: boolean;
  readonly json?: boolean;
}

const EVENTS = 1_000;

/** What has happened to a run, after a cursor; with `--follow` also what comes, until its end. */
export async function events(
  run: string,
  { after = 0, limit = EVENTS, follow = false, json = false }: EventsOptions,
): Promise<number> {
  if (!follow) return answering({ json }, () => eventsOf(run, after, limit));
  const context = await runContext();
  const { directory } = await knownRunNamed(context, run);
  await streamEvents(context, directory, { after, json });
  return 0;
}

async function eventsOf(run: string, after: number, limit: number) {
  const { id, directory } = await knownRunNamed(await runContext(), run);
  const found: RunEvent[] = [];
  const problems: { line: number; reason: string }[] = [];
  let next: number | null = null;
  for await (const line of readEvents(directory, after)) {
    if (line.kind === 'problem') {
      if (problems.length < limit) problems.push({ line: line.line, reason: line.reason });
      continue;
    }
    if (found.length === limit) {
      next = found.at(-1)?.seq ?? null;
      break;
    }
    found.push(line.event);
  }
  for (const { line, reason } of problems)
    process.stderr.write(`multi-agent: line ${line} of the events: ${reason}\n`);
  return {
    facts: { runId: id, events: found, next, problems },
    text: found.map((event) => `${eventText(event)}\n`).join(''),
  };
}
