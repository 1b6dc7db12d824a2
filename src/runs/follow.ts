/** Following the events of a run from a cursor (R8): what is there, then what comes, beyond the death of its owner. */
import { readSync } from 'node:fs';
import { join } from 'node:path';
import { openRegularFile } from '../lib/bounded-read.ts';
import { nextChange } from '../lib/changes.ts';
import type { Clock } from '../lib/clock.ts';
import { type JsonLine, jsonLineReader } from '../lib/json-line-reader.ts';
import { EVENT_BYTES, EVENTS_FILE, parseEvent, type RunEvent } from './events.ts';
import type { JournalLine } from './journal.ts';
import { watchRun } from './owner/client.ts';
import type { RunDirectory, RunsPlace } from './places.ts';
import { isFinalRun } from './status-file.ts';
import { askLock, type RunView, readRun } from './view.ts';

/** A change wakes it at once; only the death of an owner changes no file. */
const LOOK_MS = 5_000;
const CHUNK_BYTES = 64 * 1_024;

export type Followed =
  | JournalLine
  /** Nobody owns it any more, or again somebody does. */
  | { readonly kind: 'owner'; readonly gone: boolean };

export interface FollowOptions {
  /** Number of the last event that is known. */
  readonly after?: number;
  readonly clock: Clock;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** Ends with the run, or when its directory has gone. @throws FileError, UnsafeFileError */
export async function* followEvents(
  place: RunsPlace,
  directory: RunDirectory,
  { after = 0, clock, signal }: FollowOptions,
): AsyncGenerator<Followed> {
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const death = ownersDeath(place, directory, clock, both);
  const tail = await openTail(directory, after);
  let owned = true;
  try {
    while (!signal.aborted) {
      // Watched before it is read: what changes from here on is seen.
      const change = nextChange([directory]);
      try {
        const view = await readRun(directory);
        const held = askLock(directory);
        yield* tail.news();
        if (isOver(view, held, tail.last())) return;
        const gone = held === false;
        if (gone === owned) yield { kind: 'owner', gone };
        owned = !gone;
        await Promise.race([change.within(LOOK_MS, clock, both), gone ? NEVER : death()]);
      } finally {
        change.close();
      }
    }
  } finally {
    stop.abort();
    await tail.close();
  }
}

const NEVER = new Promise<never>(() => undefined);

/** A connection to an owner ends when it dies; where there is none, a look now and then has to do. */
function ownersDeath(
  place: RunsPlace,
  directory: RunDirectory,
  clock: Clock,
  signal: AbortSignal,
): () => Promise<void> {
  let heard: Promise<void> | undefined;
  return () => {
    heard ??= watchRun(place, directory, () => undefined, signal).then(async (connected) => {
      if (!connected) await clock.sleep(LOOK_MS, signal).catch(() => undefined);
      heard = undefined;
    });
    return heard;
  };
}

/** Its end is written into `status.json` first: as long as the lock is held, the event of it may still come. */
function isOver(view: RunView, held: boolean | undefined, last: RunEvent | undefined): boolean {
  if (view.kind !== 'run') return true;
  if (!view.state.terminal) return false;
  return held === false || (last?.type === 'run' && isFinalRun(last.status));
}

interface Tail {
  /** What was appended since the last call. */
  news(): Generator<JournalLine>;
  last(): RunEvent | undefined;
  close(): Promise<void>;
}

/** An appended log is read once, however often it is looked at. */
async function openTail(directory: RunDirectory, after: number): Promise<Tail> {
  const handle = await openRegularFile(join(directory, EVENTS_FILE));
  const reader = jsonLineReader({ maxLineBytes: EVENT_BYTES });
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let position = 0;
  let last: RunEvent | undefined;
  return {
    last: () => last,
    async close() {
      await handle?.close();
    },
    *news() {
      if (handle === undefined) return;
      for (;;) {
        const bytes = readSync(handle.fd, buffer, 0, CHUNK_BYTES, position);
        if (bytes === 0) return;
        position += bytes;
        for (const line of reader.push(Buffer.from(buffer.subarray(0, bytes)))) {
          const told = lineOf(line);
          if (told.kind === 'event') last = told.event;
          if (told.kind === 'problem' || told.event.seq > after) yield told;
        }
      }
    },
  };
}

function lineOf(line: JsonLine): JournalLine {
  if (line.kind === 'problem') return line;
  const event = parseEvent(line.value);
  if (event !== undefined) return { kind: 'event', event };
  return { kind: 'problem', line: line.line, reason: 'no event of this version' };
}
