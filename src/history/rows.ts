/** One row per Session, in place and in the trash (S13). Each is opened; rows come in the order of the disk. */
import { closeSync, readSync } from 'node:fs';
import { systemClock } from '../lib/clock.ts';
import { type DirectoryHandle, openChildFile, openDirectory } from '../lib/directory-handle.ts';
import { messageOf } from '../lib/errors.ts';
import { turns } from '../lib/turns.ts';
import { dayExpires, originalPlace, type Place, placePath } from './layout.ts';
import { isOpen } from './move.ts';
import { isOlderThan, lastChangeOf, readContent, type SessionContent } from './session-facts.ts';
import type { ListOptions } from './summary.ts';
import type { History, SessionRow, TrashRow } from './types.ts';
import { type FoundFile, walkSessions, walkTrash } from './walk.ts';

/** Names are looked for from the end of the file, so far at most. */
const NAME_BYTES = 256 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;
/** A longer entry is no name. */
const MAX_NAME_LINE = 16 * 1024;
const NAME_ENTRY = '"session_info"';
/** The same words in what was said are looked at as well, so often at most. */
const MOST_HITS = 1_000;

/** @throws FileError when the sessions directory cannot be read */
export async function* listSessions(
  history: History,
  options: ListOptions,
): AsyncGenerator<SessionRow, void, undefined> {
  const now = (options.clock ?? systemClock).now().getTime();
  const root = openDirectory(history.sessions);
  const turn = turns(options.signal);
  try {
    for (const found of walkSessions(root)) {
      if (turn.due()) await turn.give();
      if (found.kind === 'file') yield sessionRow(history, found, options, now);
    }
  } finally {
    root.close();
  }
}

/** @throws FileError when the sessions directory cannot be read */
export async function* listTrash(
  history: History,
  options: ListOptions,
): AsyncGenerator<TrashRow, void, undefined> {
  const now = (options.clock ?? systemClock).now().getTime();
  const root = openDirectory(history.sessions);
  const turn = turns(options.signal);
  try {
    for (const found of walkTrash(root)) {
      if (turn.due()) await turn.give();
      const row = found.kind === 'file' ? trashRow(history, found, options, now) : undefined;
      if (row) yield row;
    }
  } finally {
    root.close();
  }
}

export function sessionRow(
  history: History,
  { at, place, stats }: FoundFile,
  { retention }: ListOptions,
  now: number,
): SessionRow {
  const { content, name, unreadable } = look(at, place, true);
  const lastChange = lastChangeOf(stats.mtimeMs, content?.lastEntry, now);
  const id = content?.header?.id;
  return {
    file: placePath(place),
    id,
    name,
    cwd: content?.header?.cwd,
    lastChange: new Date(lastChange),
    bytes: stats.size,
    open: isOpen(history, { id, place }),
    expired: id !== undefined && !content?.undatable && isOlderThan(lastChange, retention.days, now),
    damaged: unreadable ?? damage(content, stats.size),
  };
}

function trashRow(
  history: History,
  { at, place, stats }: FoundFile,
  { retention }: ListOptions,
  now: number,
): TrashRow | undefined {
  const original = originalPlace(place);
  if (place.day === undefined || original === undefined) return undefined;
  const { content } = look(at, place, false);
  const id = content?.header?.id;
  const open = isOpen(history, { id, place });
  return {
    file: placePath(place),
    original: placePath(original),
    id,
    cwd: content?.header?.cwd,
    day: place.day,
    expires: open ? undefined : dayExpires(place.day, retention.trashDays),
    lastChange: new Date(lastChangeOf(stats.mtimeMs, content?.lastEntry, now)),
    bytes: stats.size,
    open,
  };
}

function damage(content: SessionContent | undefined, size: number): string | undefined {
  if (size === 0) return 'empty';
  if (!content?.header) return 'no header of a Session';
  if (content.undatable) return 'its end does not tell when it was last changed';
  return content.torn ? 'its last line is torn' : undefined;
}

interface Look {
  content?: SessionContent;
  name?: string | undefined;
  unreadable?: string;
}

function look(folder: DirectoryHandle, { name }: Place, withName: boolean): Look {
  try {
    const { fd, stats } = openChildFile(folder, name);
    try {
      const content = readContent(fd, stats.size);
      return { content, name: withName && content.header ? lastName(fd, stats.size) : undefined };
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    return { unreadable: messageOf(error) };
  }
}

/** The name of the last `session_info` entry, searched backwards in pieces: memory stays flat. */
export function lastName(fd: number, size: number): string | undefined {
  const chunk = Buffer.allocUnsafe(Math.min(size, CHUNK_BYTES + MAX_NAME_LINE));
  const stop = Math.max(0, size - NAME_BYTES);
  let hits = 0;
  for (let end = size; end > stop; end -= CHUNK_BYTES) {
    const start = Math.max(0, end - CHUNK_BYTES);
    // The pieces overlap by a line, so that one on the border is whole in one of them.
    const from = Math.max(0, start - MAX_NAME_LINE);
    const bytes = chunk.subarray(0, readSync(fd, chunk, 0, end - from, from));
    for (let at = bytes.lastIndexOf(NAME_ENTRY); at !== -1 && hits < MOST_HITS; hits++) {
      const name = nameIn(bytes, at);
      if (name !== undefined) return name;
      at = at === 0 ? -1 : bytes.lastIndexOf(NAME_ENTRY, at - 1);
    }
  }
  return undefined;
}

function nameIn(bytes: Buffer, at: number): string | undefined {
  const from = Math.max(0, at - MAX_NAME_LINE);
  const near = bytes.subarray(from, at + MAX_NAME_LINE);
  const start = near.lastIndexOf(10, at - from) + 1;
  const newline = near.indexOf(10, at - from);
  try {
    const entry: unknown = JSON.parse(near.toString('utf8', start, newline === -1 ? near.length : newline));
    if (typeof entry !== 'object' || entry === null || !('type' in entry) || !('name' in entry))
      return undefined;
    return entry.type === 'session_info' && typeof entry.name === 'string' ? entry.name : undefined;
  } catch {
    return undefined;
  }
}
