/**
 * `.history/deletions.log`: every Session that was moved or deleted, announced before it happens (rule 3). A crash
 * thus leaves no deletion unlogged, at most an announced one of which the log cannot tell whether it came about.
 */

import * as z from 'zod/mini';
import { renameChild, statChild } from '../lib/directory-entries.ts';
import { type DirectoryHandle, openChildDirectory } from '../lib/directory-handle.ts';
import { hasCode } from '../lib/errors.ts';
import { type RandomSource, randomId } from '../lib/ids.ts';
import { appendJsonLines, readJsonLines } from '../lib/jsonl.ts';
import { dateOf } from './dates.ts';
import { LOG_FILE, OWN_DIRECTORY } from './layout.ts';
import { inHistory, named } from './own-directory.ts';
import { type Intent, LogRecord, type Outcome, RECORD_VERSION } from './records.ts';
import type { DeletionEntry, History } from './types.ts';

/** The log and what it was before; so some 200,000 deletions are kept (rule 7). */
const MAX_BYTES = 16 * 1024 * 1024;
const OLDER_FILES = 3;
/** The outcome of a batch of which nothing came about names all of it, and names can be 255 bytes of anything. */
const MAX_LINE_BYTES = 1024 * 1024;
/** A batch is resolved in memory; no writer of ours makes a longer one. */
const MOST_IN_A_BATCH = 4_096;

export type Announced = Omit<Intent, 'version' | 'kind' | 'batch' | 'at'>;

export interface DeletionLog {
  /**
   * Announces, does, and records what of it failed; `act` gives the files that stayed where they were.
   *
   * @param frees what is done makes room: on a full disk it is done first and recorded after
   */
  record(
    intents: readonly Announced[],
    act: () => Promise<ReadonlySet<string>>,
    frees: boolean,
  ): Promise<void>;
}

export function openDeletionLog(
  own: DirectoryHandle,
  {
    now,
    random,
    maxBytes = MAX_BYTES,
  }: { now: () => Date; random?: RandomSource | undefined; maxBytes?: number },
): DeletionLog {
  const write = async (lines: readonly (Intent | Outcome)[], sync: boolean): Promise<void> => {
    try {
      // An outcome stays in the file of its batch.
      if (lines[0]?.kind === 'intent') rotate(own, maxBytes);
      await appendJsonLines(own.at(LOG_FILE), lines, { sync, follow: false });
    } catch (error) {
      throw named(error, own);
    }
  };
  const linesOf = (
    intents: readonly Announced[],
  ): { lines: Intent[]; outcome: (failed: string[]) => Outcome } => {
    const batch = randomId(6, random);
    const head = () => ({ version: RECORD_VERSION, batch, at: now().toISOString() }) as const;
    return {
      lines: intents.map((intent) => ({ ...head(), kind: 'intent', ...intent })),
      outcome: (failed) => ({ ...head(), kind: 'outcome', failed }),
    };
  };
  return {
    async record(intents, act, frees) {
      if (intents.length === 0) return;
      const { lines, outcome } = linesOf(intents);
      try {
        await write(lines, true);
      } catch (error) {
        if (!frees || !hasCode(error, 'ENOSPC', 'EDQUOT')) throw error;
        const failed = await act();
        // In one piece, under a name of its own: a part of the announcement may have reached the disk.
        const late = linesOf(intents);
        await write([...late.lines, late.outcome([...failed])], true);
        return;
      }
      const failed = await act();
      // Without it the log says that the outcome is unknown, which is no reason to stop.
      await write([outcome([...failed])], false).catch(() => undefined);
    },
  };
}

function rotate(own: DirectoryHandle, maxBytes: number): void {
  if ((statChild(own, LOG_FILE)?.size ?? 0) < maxBytes) return;
  for (let age = OLDER_FILES; age >= 1; age--) {
    const newer = logFile(age - 1);
    if (statChild(own, newer)) renameChild(own, newer, own, logFile(age));
  }
}

function logFile(age: number): string {
  return age === 0 ? LOG_FILE : `${LOG_FILE}.${age}`;
}

export type LogLine = { kind: 'entry'; entry: DeletionEntry } | { kind: 'skipped'; lines: number };

/**
 * What was ever moved or deleted, oldest first, streamed. Last comes, if there were any, how many lines were skipped:
 * torn ones and those of a newer version.
 *
 * @throws FileError, UnsafeFileError
 */
export async function* readDeletions(history: History): AsyncGenerator<LogLine, void, undefined> {
  const own = inHistory(history, openOwn);
  if (own === undefined) return;
  let skipped = 0;
  try {
    for (let age = OLDER_FILES; age >= 0; age--) {
      if (statChild(own, logFile(age)) === undefined) continue;
      const reading = resolveBatches(own.at(logFile(age)));
      for await (const line of reading) {
        if (line === 'skipped') skipped++;
        else yield { kind: 'entry', entry: line };
      }
    }
  } catch (error) {
    throw named(error, own);
  } finally {
    own.close();
  }
  if (skipped > 0) yield { kind: 'skipped', lines: skipped };
}

function openOwn(root: DirectoryHandle): DirectoryHandle | undefined {
  try {
    return openChildDirectory(root, OWN_DIRECTORY);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

async function* resolveBatches(path: string): AsyncGenerator<DeletionEntry | 'skipped'> {
  let batch: Intent[] = [];
  const resolve = (outcome: Outcome | undefined): (DeletionEntry | 'skipped')[] => {
    const failed = new Set(outcome?.failed);
    const entries = batch.map((intent) =>
      entryOf(intent, outcome === undefined ? 'unknown' : failed.has(intent.file) ? 'failed' : 'done'),
    );
    batch = [];
    return entries;
  };
  for await (const line of readLog(path)) {
    const record = line === undefined ? undefined : z.safeParse(LogRecord, line).data;
    const belongs = batch[0] === undefined || record?.batch === batch[0].batch;
    if (record === undefined) yield 'skipped';
    else if (record.kind === 'outcome') yield* resolve(belongs ? record : undefined);
    else {
      if (!belongs || batch.length >= MOST_IN_A_BATCH) yield* resolve(undefined);
      batch.push(record);
    }
  }
  yield* resolve(undefined);
}

async function* readLog(path: string): AsyncGenerator<unknown> {
  const { openRegularFile } = await import('../lib/bounded-read.ts');
  const handle = await openRegularFile(path);
  if (!handle) return;
  try {
    for await (const line of readJsonLines(handle, { maxLineBytes: MAX_LINE_BYTES }))
      yield line.kind === 'entry' ? line.value : undefined;
  } finally {
    await handle.close();
  }
}

/** `skipped` when its time is none: the log lies where a sandbox can write. */
function entryOf(intent: Intent, outcome: DeletionEntry['outcome']): DeletionEntry | 'skipped' {
  const { action, why, file, id, bytes, to, days } = intent;
  const [at, lastChange] = [dateOf(intent.at), dateOf(intent.lastChange)];
  return at ? { at, action, why, file, id, bytes, lastChange, to, days, outcome } : 'skipped';
}
