/** `events.jsonl`, read from a cursor and appended to by the holder of the run's lock (R1, R8). */
import { join } from 'node:path';
import { openRegularFile } from '../lib/bounded-read.ts';
import type { Clock } from '../lib/clock.ts';
import { appendJsonLines, readJsonLines } from '../lib/jsonl.ts';
import {
  EVENT_BYTES,
  EVENTS_FILE,
  type NewEvent,
  numberedEvent,
  parseEvent,
  type RunEvent,
} from './events.ts';
import type { RunDirectory } from './places.ts';

/** As much as 1,024 steps with all their messages say; who reads more is told so (rule 7). */
const MAX_BYTES = 2 * 1_024 * 1_024 * 1_024;

export type JournalLine =
  | { readonly kind: 'event'; readonly event: RunEvent }
  /** A line that a crash tore, or that is none of this version's. */
  | { readonly kind: 'problem'; readonly line: number; readonly reason: string };

/** Events after a cursor, in order; none where there is no file. @throws FileError, UnsafeFileError */
export async function* readEvents(run: RunDirectory, after = 0): AsyncGenerator<JournalLine> {
  const handle = await openRegularFile(join(run, EVENTS_FILE));
  if (handle === undefined) return;
  try {
    for await (const line of readJsonLines(handle, { maxLineBytes: EVENT_BYTES, maxBytes: MAX_BYTES })) {
      if (line.kind === 'problem') {
        yield line;
        continue;
      }
      const event = parseEvent(line.value);
      if (event === undefined) yield { kind: 'problem', line: line.line, reason: 'no event of this version' };
      else if (event.seq > after) yield { kind: 'event', event };
    }
  } finally {
    await handle.close();
  }
}

export interface Journal {
  /** Number of the last event. */
  readonly seq: number;
  /** On the disk when it resolves. @throws FileError */
  append(...events: readonly NewEvent[]): Promise<void>;
}

/** Goes on where the last whole event ends. Calls of `append` are made one after the other. */
export async function openJournal(run: RunDirectory, clock: Clock): Promise<Journal> {
  let seq = 0;
  for await (const line of readEvents(run)) if (line.kind === 'event') seq = Math.max(seq, line.event.seq);
  let last: Promise<void> = Promise.resolve();
  return {
    get seq() {
      return seq;
    },
    append(...events) {
      const write = async (): Promise<void> => {
        const now = clock.now();
        const numbered = events.map((event, index) => numberedEvent(event, seq + 1 + index, now));
        await appendJsonLines(join(run, EVENTS_FILE), numbered, { sync: true, follow: false });
        seq += events.length;
      };
      const done = last.then(write, write);
      last = done.catch(() => undefined);
      return done;
    },
  };
}
