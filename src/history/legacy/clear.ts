/** What is left of the old history: how much it is, and deleting it (S12, S13). */
import { closeSync } from 'node:fs';
import { systemClock } from '../../lib/clock.ts';
import { statChild, unlinkChild } from '../../lib/directory-entries.ts';
import { hasCode, messageOf, OperationError } from '../../lib/errors.ts';
import { appendJsonLine } from '../../lib/jsonl.ts';
import type { DomainTable } from '../../wire/index.ts';
import { lockStore } from './lock.ts';
import { CLEAR_LOG } from './names.ts';
import type { LegacyNeeds } from './options.ts';
import {
  addTo,
  countIn,
  type LegacyClearReport,
  type LegacyContent,
  noContent,
  noTally,
  note,
} from './report.ts';
import { LEGACY_SEAL, openStore } from './store.ts';
import { type FoundFile, walkStore } from './walk.ts';

const WAIT_MS = 10_000;

interface StoreOptions extends LegacyNeeds {
  /** The shared volume's root directory. */
  readonly sharedRoot: string;
  readonly table: DomainTable;
}

/** What lies in the store now. Changes nothing but that it is put out of reach. */
export function surveyLegacy({ sharedRoot, table, seal = LEGACY_SEAL }: StoreOptions): LegacyContent {
  const content = noContent();
  const { directory: store } = openStore(sharedRoot, seal);
  if (store === undefined) return content;
  try {
    for (const file of walkStore(store, { table, seal })) {
      if (file.fd !== undefined) closeSync(file.fd);
      // What cannot be read is not cleared either.
      countIn(content, file.problem === undefined ? file : { ...file, kind: 'foreign' });
    }
  } finally {
    store.close();
  }
  return content;
}

/**
 * Deletes what belongs to no configured domain, also what has no readable header; with `all` also what waits for a
 * domain's first start. Never what is not named like a Session. Each is in the store's log, with its size, before it
 * goes; on a disk too full for that right after.
 *
 * @throws OperationError when a migration runs
 */
export async function clearLegacyStore(
  options: StoreOptions & { readonly all?: boolean },
): Promise<LegacyClearReport> {
  const {
    sharedRoot,
    table,
    seal = LEGACY_SEAL,
    all = false,
    clock = systemClock,
    waitMs = WAIT_MS,
  } = options;
  const report: LegacyClearReport = {
    deleted: noTally(),
    content: noContent(),
    problems: { items: [], omitted: 0 },
  };
  const { directory: store } = openStore(sharedRoot, seal);
  if (store === undefined) return report;
  try {
    const lock = await lockStore(store, seal, { ...options, waitMs, clock });
    if (lock === undefined) {
      throw new OperationError('a start is sorting the old history at this moment', {
        hint: 'try again when it has started',
      });
    }
    try {
      for (const file of walkStore(store, { table, seal })) {
        if (file.fd !== undefined) closeSync(file.fd);
        if (goes(file, all)) await deleteOne(file, report, store.at(CLEAR_LOG), clock.now());
        else stays(file, report);
      }
    } finally {
      lock.release();
    }
  } finally {
    store.close();
  }
  return report;
}

/** What could not be read may be anybody's: only what was read, and is no Session of a domain, goes (rule 3). */
function goes({ kind, domain, problem }: FoundFile, all: boolean): boolean {
  if (problem !== undefined) return false;
  return kind === 'damaged' || (kind === 'session' && (all || domain === undefined));
}

function stays(file: FoundFile, report: LegacyClearReport): void {
  if (file.problem !== undefined) note(report.problems, { file: file.path, reason: file.problem });
  countIn(report.content, file);
}

async function deleteOne(file: FoundFile, report: LegacyClearReport, log: string, now: Date): Promise<void> {
  const { folder, name, path, stats } = file;
  try {
    // A damaged one may be anything by now: only a file goes.
    if (statChild(folder.directory, name)?.isFile() !== true) throw new OperationError('it is no file');
    const facts = { version: 1, at: now.toISOString(), action: 'deleted', why: 'cleared', file: path };
    const line = { ...facts, bytes: stats.size, lastChange: stats.mtimeMs };
    const logged = await appendIfRoom(log, line);
    unlinkChild(folder.directory, name);
    folder.thinned = true;
    addTo(report.deleted, stats);
    if (!logged && !(await appendIfRoom(log, line)))
      note(report.problems, { file: path, reason: 'it was deleted, and the disk had no room to log it' });
  } catch (error) {
    note(report.problems, { file: path, reason: messageOf(error) });
    countIn(report.content, file);
  }
}

/** False on a full disk, which must not keep anyone from making room. */
async function appendIfRoom(log: string, line: object): Promise<boolean> {
  try {
    await appendJsonLine(log, line, { follow: false });
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOSPC', 'EDQUOT')) return false;
    throw error;
  }
}
