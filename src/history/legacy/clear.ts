/** What is left of the old history: how much it is, and deleting it (S12, S13). */
import { closeSync, constants, writeSync } from 'node:fs';
import { systemClock } from '../../lib/clock.ts';
import { statChild, unlinkChild } from '../../lib/directory-entries.ts';
import { type DirectoryHandle, openChildFile } from '../../lib/directory-handle.ts';
import { messageOf, OperationError } from '../../lib/errors.ts';
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
      countIn(content, file);
    }
  } finally {
    store.close();
  }
  return content;
}

/**
 * Deletes what belongs to no configured domain, also what has no readable header; with `all` also what waits for a
 * domain's first start. Never what is not named like a Session. Each is in the store's log, with its size, before it goes.
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
    const log = openLog(store);
    try {
      for (const file of walkStore(store, { table, seal })) {
        if (file.fd !== undefined) closeSync(file.fd);
        if (goes(file, all)) deleteOne(file, report, log, clock.now());
        else stays(file, report);
      }
    } finally {
      closeSync(log);
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

function deleteOne(file: FoundFile, report: LegacyClearReport, log: number, now: Date): void {
  const { folder, name, path, stats } = file;
  try {
    // A damaged one may be anything by now: only a file goes.
    if (statChild(folder.directory, name)?.isFile() !== true) throw new OperationError('it is no file');
    const entry = { version: 1, at: now.toISOString(), action: 'deleted', why: 'cleared', file: path };
    writeSync(log, `${JSON.stringify({ ...entry, bytes: stats.size, lastChange: stats.mtimeMs })}\n`);
    unlinkChild(folder.directory, name);
    folder.thinned = true;
    addTo(report.deleted, stats);
  } catch (error) {
    note(report.problems, { file: path, reason: messageOf(error) });
    countIn(report.content, file);
  }
}

function openLog(store: DirectoryHandle): number {
  return openChildFile(store, CLEAR_LOG, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND).fd;
}
