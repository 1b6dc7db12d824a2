/** Numbers of one domain (S13), in one pass that opens only what mtime cannot decide. */
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../lib/clock.ts';
import type { DirectoryHandle } from '../lib/directory-handle.ts';
import { hasCode } from '../lib/errors.ts';
import { isHeld } from '../lib/kernel-lock.ts';
import { addTo, boundedList, count, emptyTally } from './bounded.ts';
import { examine } from './candidates.ts';
import { inHistory } from './own-directory.ts';
import { isOlderThan, lastChangeOf } from './session-facts.ts';
import { turns } from './turns.ts';
import type { History, HistoryNeeds, HistorySummary, Retention } from './types.ts';
import { type Found, walkSessions, walkTrash } from './walk.ts';

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
  for (const found of walkSessions(root)) {
    if (turn.due()) await turn.give();
    if (found.kind === 'problem') addTo(summary.problems, found.problem);
    else if (found.kind === 'file') {
      const { size, mtimeMs } = found.stats;
      let lastChange = lastChangeOf(mtimeMs, undefined, now);
      if (size === 0) summary.damaged++;
      else if (isOlderThan(lastChange, retention.days, now))
        lastChange = countExpired(found, retention.days, now, summary) ?? lastChange;
      summary.count++;
      summary.bytes += size;
      if (lastChange < oldest) oldest = lastChange;
      if (lastChange > newest) newest = lastChange;
    }
  }
  if (summary.count === 0) return;
  summary.oldest = new Date(oldest);
  summary.newest = new Date(newest);
}

/** The last change as the file's content has it; undefined when it cannot be told. */
function countExpired(
  found: Extract<Found, { kind: 'file' }>,
  days: number,
  now: number,
  summary: Summary,
): number | undefined {
  const session = examine(found, now);
  if ('kind' in session) {
    if (session.kind === 'no-session') summary.damaged++;
    else addTo(summary.problems, { file: found.place.name, ...session });
    return undefined;
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
  for (const found of walkTrash(root)) {
    if (turn.due()) await turn.give();
    if (found.kind === 'problem') addTo(summary.problems, found.problem);
    else if (found.kind === 'file')
      count(summary.trash, found.stats.size, new Date(lastChangeOf(found.stats.mtimeMs, undefined, now)));
  }
}

/** Every open Session has one lock by its id; lock files of closed ones stay, and are probed too. */
async function countOpen(locks: string): Promise<number> {
  let open = 0;
  try {
    for await (const { name } of await opendir(locks, { bufferSize: 512 }))
      if (name.startsWith('id-') && isHeld(join(locks, name))) open++;
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
  return open;
}
