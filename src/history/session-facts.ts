/** What a Session file says of itself: its header and the time of its last entry. Bounded reads of an open file. */
import { closeSync, constants, readSync, type Stats } from 'node:fs';
import { type DirectoryHandle, openChildFile } from '../lib/directory-handle.ts';
import { parseSessionHeader, readOpenSessionHeader, type SessionHeader } from '../pi/index.ts';
import { DAY_MS } from './layout.ts';

/** How far back from the end a last entry is looked for; no entry of pi is longer. */
const TAIL_BYTES = [64 * 1024, 1024 * 1024, 16 * 1024 * 1024, 64 * 1024 * 1024];
/** Damaged lines at the end that are stepped over. */
const MOST_LINES = 1_000;
const LF = 10;
/** Most files fit, and are read with one call; never in use beyond one. */
const SMALL = Buffer.allocUnsafeSlow(64 * 1024);

export interface SessionContent {
  readonly header: SessionHeader | undefined;
  /** Milliseconds; undefined when no entry has a timestamp. */
  readonly lastEntry: number | undefined;
  /** The last line is no JSON: its writer was interrupted, or it was damaged. */
  readonly torn: boolean;
  /** The end of the file has no entry within what is read of it. */
  readonly undatable: boolean;
}

/** `stats` are those of the file that was really read. */
export interface ReadSession extends SessionContent {
  readonly stats: Stats;
}

/** @throws FileError, NotRegularFileError, MountPointError */
export function readSession(folder: DirectoryHandle, name: string, seen: Stats): ReadSession {
  const { fd, stats } = openChildFile(folder, name, constants.O_RDONLY, undefined, seen);
  try {
    return { stats, ...readContent(fd, stats.size) };
  } finally {
    closeSync(fd);
  }
}

export function readContent(fd: number, size: number): SessionContent {
  if (size > SMALL.length) return { header: readOpenSessionHeader(fd), ...readEnd(fd, size) };
  const whole = SMALL.subarray(0, readSync(fd, SMALL, 0, size, 0));
  return { header: parseSessionHeader(whole), ...lastEntryIn(whole, true) };
}

function readEnd(fd: number, size: number): Omit<SessionContent, 'header'> {
  for (const length of TAIL_BYTES) {
    const start = Math.max(0, size - length);
    const buffer = Buffer.allocUnsafe(size - start);
    const end = lastEntryIn(buffer.subarray(0, readSync(fd, buffer, 0, buffer.length, start)), start === 0);
    if (end.lastEntry !== undefined || end.undatable || start === 0) return end;
  }
  return { lastEntry: undefined, torn: false, undatable: true };
}

/** `whole`: the bytes begin where a line begins. */
function lastEntryIn(bytes: Buffer, whole: boolean): Omit<SessionContent, 'header'> {
  let torn = false;
  let end = bytes.length;
  let lines = 0;
  while (lines < MOST_LINES && end > 0) {
    const start = bytes.lastIndexOf(LF, end - 1) + 1;
    if (start === 0 && !whole) break;
    const line = bytes.toString('utf8', start, end).trim();
    end = start - 1;
    if (line === '') continue;
    const time = timeOf(line);
    if (time !== undefined && time !== 'damaged') return { lastEntry: time, torn, undatable: false };
    torn ||= lines === 0 && time === 'damaged';
    lines++;
  }
  return { lastEntry: undefined, torn, undatable: lines >= MOST_LINES };
}

function timeOf(line: string): number | 'damaged' | undefined {
  let entry: unknown;
  try {
    entry = JSON.parse(line);
  } catch {
    return 'damaged';
  }
  if (typeof entry !== 'object' || entry === null) return 'damaged';
  if (!('timestamp' in entry)) return undefined;
  const { timestamp } = entry;
  const time = typeof timestamp === 'string' ? Date.parse(timestamp) : timestamp;
  return typeof time === 'number' && Number.isFinite(time) ? time : undefined;
}

/**
 * Last change in milliseconds: the newest of mtime and the last entry's timestamp (S11). Each counts as now where it
 * lies in the future, so that a wrong clock makes nobody's Session old; some file systems keep times that are no dates.
 */
export function lastChangeOf(mtimeMs: number, lastEntry: number | undefined, now: number): number {
  return Math.min(now, Math.max(mtimeMs, lastEntry ?? 0, 0));
}

/** Strictly older than the days; 0 days keep everything. */
export function isOlderThan(lastChange: number, days: number, now: number): boolean {
  return days > 0 && now - lastChange > days * DAY_MS;
}
