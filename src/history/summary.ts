/** Numbers of one domain (S13), in one pass that opens only what mtime cannot decide. */
import type { Stats } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../lib/clock.ts';
import type { DirectoryHandle } from '../lib/directory-handle.ts';
import { hasCode } from '../lib/errors.ts';
import { FileError } from '../lib/file-error.ts';
import { isHeld } from '../lib/kernel-lock.ts';
import { turns } from '../lib/turns.ts';
import { addProblem, boundedList, emptyTally } from './bounded.ts';
import { examine } from './candidates.ts';
import { placePath } from './layout.ts';
import { inHistory } from './own-directory.ts';
import { isOlderThan, lastChangeOf } from './session-facts.ts';
import type { History, HistoryNeeds, HistorySummary, Retention } from './types.ts';
import { type FoundFile, walkSessions, walkTrash } from './walk.ts';

type Summary = { -readonly [Key in keyof HistorySummary]: HistorySummary[Key] };
export type ListOptions = { retention: Retention } & HistoryNeeds;

/**
 * Counts one domain's history. Of files that were not opened the last change is their mtime.
 *
 * @throws FileError when the sessions directory cannot be read
 */
export async function summarizeHistory(history: History, options: ListOptions): Promise<HistorySummary> {
  return inHistory(history, async (root) => {
    const summary: Summary = {
      count: 0,
      bytes: 0,
      oldest: undefined,
      newest: undefined,
      expired: 0,
      damaged: 0,
      open: await countOpen(history.locks),
      trash: emptyTally(),
      problems: boundedList(),
    };
    const now = (options.clock ?? systemClock).now().getTime();
    await countSessions(root, options, now, summary);
    await countTrash(root, options, now, summary);
    return summary;
  });
}

async function countSessions(
  root: DirectoryHandle,
  { retention, signal }: ListOptions,
  now: number,
  summary: Summary,
): Promise<void> {
  const turn = turns(signal);
  let [oldest, newest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const add = (size: number, lastChange: number): void => {
    summary.count++;
    summary.bytes += size;
    if (size === 0) summary.damaged++;
    if (lastChange < oldest) oldest = lastChange;
    if (lastChange > newest) newest = lastChange;
  };
  const isDone = ({ size, mtimeMs }: Stats): boolean => {
    if (size > 0 && isOlderThan(mtimeMs, retention.days, now)) return false;
    add(size, lastChangeOf(mtimeMs, undefined, now));
    return true;
  };
  for (const found of walkSessions(root, { isDone })) {
    if (turn.due()) await turn.give();
    if (found.kind === 'problem') addProblem(summary.problems, found.problem);
    else if (found.kind === 'file') add(found.stats.size, countExpired(found, retention.days, now, summary));
  }
  if (summary.count === 0) return;
  summary.oldest = new Date(oldest);
  summary.newest = new Date(newest);
}

/** Gives the last change. */
function countExpired(found: FoundFile, days: number, now: number, summary: Summary): number {
  const session = examine(found, now);
  if ('kind' in session) {
    if (session.kind === 'no-session') summary.damaged++;
    else addProblem(summary.problems, { file: placePath(found.place), ...session });
    return lastChangeOf(found.stats.mtimeMs, undefined, now);
  }
  const lastChange = session.lastChange.getTime();
  if (!session.undatable && isOlderThan(lastChange, days, now)) summary.expired++;
  return lastChange;
}

async function countTrash(
  root: DirectoryHandle,
  { signal }: ListOptions,
  now: number,
  summary: Summary,
): Promise<void> {
  const turn = turns(signal);
  let oldest = Number.POSITIVE_INFINITY;
  const isDone = ({ size, mtimeMs }: Stats): boolean => {
    summary.trash.count++;
    summary.trash.bytes += size;
    oldest = Math.min(oldest, lastChangeOf(mtimeMs, undefined, now));
    return true;
  };
  for (const found of walkTrash(root, { isDone })) {
    if (turn.due()) await turn.give();
    if (found.kind === 'problem') addProblem(summary.problems, found.problem);
  }
  if (summary.trash.count > 0) summary.trash.oldest = new Date(oldest);
}

/** Every open Session has one lock by its id; lock files of closed ones stay, and are probed too. */
async function countOpen(locks: string): Promise<number> {
  let open = 0;
  try {
    for await (const { name } of await opendir(locks, { bufferSize: 512 }))
      if (name.startsWith('id-') && isLocked(join(locks, name))) open++;
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
  return open;
}

/** False too for what is no lock file: a sandbox can put anything there. */
function isLocked(path: string): boolean {
  try {
    return isHeld(path);
  } catch (error) {
    if (error instanceof FileError) return false;
    throw error;
  }
}
