/** Retention (S11): what expired goes to the trash, what was in the trash long enough goes for good. */
import { systemClock } from '../lib/clock.ts';
import { statChild } from '../lib/directory-entries.ts';
import { type DirectoryHandle, openChildDirectory } from '../lib/directory-handle.ts';
import { ConfigError, hasCode, messageOf } from '../lib/errors.ts';
import { turns } from '../lib/turns.ts';
import { addProblem, boundedList, emptyTally } from './bounded.ts';
import { openDeletionLog } from './deletion-log.ts';
import { expireSessions } from './expire-sessions.ts';
import { expireTrash } from './expire-trash.ts';
import { DAY_MS, NOTICE_FILE, OWN_DIRECTORY } from './layout.ts';
import { forgetStarts } from './named.ts';
import { changingHistory, inHistory } from './own-directory.ts';
import type { Pruning, Report } from './pruning.ts';
import type { History, PruneOptions, PruneReport } from './types.ts';

/**
 * Moves expired Sessions to the trash and deletes what was there long enough. Killed at any moment it leaves each
 * Session whole, in its place or in the trash; the next prune goes on. A dry run writes nothing and takes no lock.
 *
 * @throws ConfigError (days that are no whole number: nothing is pruned), HistoryBusyError, FileError (the sessions
 *   directory itself cannot be used); of single Sessions failures are in the report
 */
export async function pruneHistory(history: History, options: PruneOptions): Promise<PruneReport> {
  checkDays('SESSIONS_RETENTION_DAYS', options.retention.days);
  checkDays('SESSIONS_TRASH_DAYS', options.retention.trashDays);
  if (options.dryRun) return inHistory(history, (root) => prune(history, options, root));
  return changingHistory(history, options, ({ root, own }) => prune(history, options, root, own));
}

function checkDays(setting: string, days: number): void {
  if (!Number.isSafeInteger(days) || days < 0)
    throw new ConfigError(setting, `${days} is no whole number of days; nothing was pruned`);
}

async function prune(
  history: History,
  options: PruneOptions,
  root: DirectoryHandle,
  own?: DirectoryHandle,
): Promise<PruneReport> {
  const { clock = systemClock, random, retention, between = () => undefined } = options;
  const pruning: Pruning = {
    history,
    options,
    root,
    log: own && openDeletionLog(own, { now: () => clock.now(), random }),
    now: clock.now().getTime(),
    report: emptyReport(options),
    turn: turns(options.signal),
    between,
  };
  const { report } = pruning;
  try {
    if (own !== undefined) forgetStarts(own, pruning.now);
    if (retention.days > 0) await expireSessions(pruning);
    await expireTrash(pruning);
    await pruneOthers(pruning);
  } catch (error) {
    // What is done until then is to be told.
    if (options.signal?.aborted !== true) throw error;
    report.interrupted = true;
  }
  report.total = report.others.reduce((sum, { count }) => sum + count, report.removed.count);
  report.firstDeletion = report.total + report.expiredTrash.count > 0 && !wasNoticeShown(root);
  return report;
}

function emptyReport({ dryRun = false, retention }: PruneOptions): Report {
  return {
    dryRun,
    retention,
    removed: emptyTally(),
    others: [],
    total: 0,
    expiredTrash: emptyTally(),
    spared: 0,
    keptOpen: 0,
    sessions: boundedList(),
    problems: boundedList(),
    interrupted: false,
    firstDeletion: false,
  };
}

async function pruneOthers({ options, now, report }: Pruning): Promise<void> {
  const { others = [], retention, dryRun = false } = options;
  if (retention.days === 0) return;
  const unchangedSince = new Date(now - retention.days * DAY_MS);
  for (const other of others) {
    try {
      report.others.push({ what: other.what, ...(await other.prune({ unchangedSince, dryRun })) });
    } catch (error) {
      addProblem(report.problems, { file: other.what, kind: 'failed', reason: messageOf(error) });
    }
  }
}

function wasNoticeShown(root: DirectoryHandle): boolean {
  try {
    const own = openChildDirectory(root, OWN_DIRECTORY);
    try {
      return statChild(own, NOTICE_FILE) !== undefined;
    } finally {
      own.close();
    }
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}
