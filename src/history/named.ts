/**
 * Sessions that a start names (S11). It takes a moment until the start's pi has opened them, and any other sandbox of the
 * domain may prune in that moment: so each start writes down what it names, where every prune of the domain looks.
 */
import { closeSync, constants, readSync, type Stats, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod/mini';
import { isAtomicTemporary, temporaryName } from '../lib/atomic-file.ts';
import { systemClock } from '../lib/clock.ts';
import { entriesOf, renameChild, statChild, unlinkChild } from '../lib/directory-entries.ts';
import {
  type DirectoryHandle,
  makeChildDirectory,
  openChildDirectory,
  openChildFile,
  openDirectory,
} from '../lib/directory-handle.ts';
import { hasCode, OperationError } from '../lib/errors.ts';
import { randomId } from '../lib/ids.ts';
import { OWN_DIRECTORY } from './layout.ts';
import type { History, HistoryNeeds, SessionFacts } from './types.ts';

const VERSION = 1;
const PREFIX = 'starting-';
/** By then its pi has opened what the start names, or has ended. */
const STARTING_SECONDS = 60;
/** Somebody who chooses among what is in a folder may take his time. */
const CHOOSING_SECONDS = 3_600;
/** So many starts of one minute are heeded, and so much each may name (rule 7). */
const MAX_MARKS = 200;
const MAX_BYTES = 64 * 1024;
const MAX_NAMES = 100;

/** Paths are below the sessions directory. */
export interface NamedHere {
  /** Ids, or first characters of ids. */
  readonly ids: readonly string[];
  readonly files: readonly string[];
  /** Every Session in them; `.` for the sessions directory itself. */
  readonly folders: readonly string[];
}

function markSchema() {
  const names = z.array(z.string()).check(z.maxLength(MAX_NAMES));
  return z.object({
    version: z.literal(VERSION),
    /** ISO 8601, UTC. */
    at: z.iso.datetime(),
    /** For how long it counts. */
    seconds: z.int().check(z.minimum(1), z.maximum(CHOOSING_SECONDS)),
    ids: names,
    files: names,
    folders: names,
  });
}

export function namesNothing({ ids, files, folders }: NamedHere): boolean {
  return ids.length + files.length + folders.length === 0;
}

export function isNamed(
  { ids, files, folders }: NamedHere,
  { file, id }: Pick<SessionFacts, 'file' | 'id'>,
): boolean {
  return files.includes(file) || folders.includes(dirname(file)) || ids.some((start) => id.startsWith(start));
}

/**
 * Keeps what is named out of every prune of the domain for the next minute, and what is to be chosen from for an hour. It is
 * not made durable: no start outlives the machine.
 *
 * @throws FileError, as on a full disk
 */
export function announceStart(
  history: History,
  named: NamedHere,
  { clock = systemClock, random }: HistoryNeeds,
): void {
  const root = openDirectory(history.sessions);
  try {
    const own = makeChildDirectory(root, OWN_DIRECTORY);
    try {
      const [ids, files, folders] = [named.ids, named.files, named.folders].map((list) =>
        list.slice(0, MAX_NAMES),
      );
      const seconds = named.folders.length > 0 ? CHOOSING_SECONDS : STARTING_SECONDS;
      const mark = { version: VERSION, at: clock.now().toISOString(), seconds, ids, files, folders };
      const temporary = temporaryName(random);
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
      const { fd } = openChildFile(own, temporary, flags);
      try {
        writeSync(fd, JSON.stringify(mark));
      } finally {
        closeSync(fd);
      }
      renameChild(own, temporary, own, `${PREFIX}${randomId(16, random)}.json`);
    } finally {
      own.close();
    }
  } finally {
    root.close();
  }
}

/** Leaves out what starts name at this moment. What is damaged, or of a newer version, names nothing. */
export function withoutNamed<Session extends Pick<SessionFacts, 'file' | 'id'>>(
  root: DirectoryHandle,
  found: readonly Session[],
  now: number,
): readonly Session[] {
  const starts = found.length === 0 ? [] : namedByStarts(root, now);
  return starts.length === 0
    ? found
    : found.filter((session) => !starts.some((named) => isNamed(named, session)));
}

function namedByStarts(root: DirectoryHandle, now: number): NamedHere[] {
  let own: DirectoryHandle;
  try {
    own = openChildDirectory(root, OWN_DIRECTORY);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
  try {
    return marksIn(own).flatMap((name) => {
      const mark = readMark(own, name);
      return mark !== undefined && counts(mark, now) ? [mark] : [];
    });
  } finally {
    own.close();
  }
}

/** Removes what has had its time, and what killed starts have left of writing it. Under the history's lock. */
export function forgetStarts(own: DirectoryHandle, now: number): void {
  for (const { name } of entriesOf(own)) {
    if (!isMark(name) && !isAtomicTemporary(name)) continue;
    const stats = statChild(own, name);
    if (stats === undefined || isNeeded(own, name, stats, now)) continue;
    try {
      unlinkChild(own, name);
    } catch (error) {
      // A sandbox can put a directory there; it keeps nobody from pruning.
      if (!(error instanceof OperationError)) throw error;
    }
  }
}

/** One that is no mark may be on its way to become one. */
function isNeeded(own: DirectoryHandle, name: string, { mtimeMs, ctimeMs }: Stats, now: number): boolean {
  const mark = isMark(name) ? readMark(own, name) : undefined;
  const written = new Date(Math.max(mtimeMs, ctimeMs)).toISOString();
  return counts(mark ?? { at: written, seconds: STARTING_SECONDS }, now);
}

/** A time in the future is none of a start's. */
function counts({ at, seconds }: { at: string; seconds: number }, now: number): boolean {
  return Math.abs(now - Date.parse(at)) <= seconds * 1_000;
}

function isMark(name: string): boolean {
  return name.startsWith(PREFIX) && name.endsWith('.json');
}

function marksIn(own: DirectoryHandle): string[] {
  const names: string[] = [];
  for (const { name } of entriesOf(own)) {
    if (isMark(name)) names.push(name);
    if (names.length >= MAX_MARKS) break;
  }
  return names;
}

function readMark(own: DirectoryHandle, name: string) {
  let fd: number | undefined;
  try {
    ({ fd } = openChildFile(own, name));
    const buffer = Buffer.alloc(MAX_BYTES);
    return markSchema().safeParse(
      JSON.parse(buffer.toString('utf8', 0, readSync(fd, buffer, 0, MAX_BYTES, 0))),
    ).data;
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
