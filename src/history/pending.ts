/* The signatures others build on; each body replaces its line here. */
import type { Readable } from 'node:stream';
import { OperationError } from '../lib/errors.ts';
import type {
  ClearReport,
  DeletionEntry,
  History,
  HistoryNeeds,
  HistorySummary,
  PruneOptions,
  PruneReport,
  RemovedSession,
  Retention,
  SessionRow,
  ShownSession,
  TrashRow,
} from './types.ts';

function pending(): never {
  throw new OperationError('this part of the history is not built yet');
}

/** Moves expired Sessions to the trash and deletes what was there long enough (S11). @throws HistoryBusyError */
export async function pruneHistory(_history: History, _options: PruneOptions): Promise<PruneReport> {
  pending();
}

/** The first-deletion notice was shown: it is not due again. */
export async function acknowledgeFirstDeletion(_history: History): Promise<void> {
  pending();
}

/** What a start prints on stderr after a prune, line by line, the first word for word as S11 has it. */
export function pruneMessages(_report: PruneReport, _options: { domain: string }): string[] {
  pending();
}

/** Numbers of one domain (`sessions list`). */
export async function summarizeHistory(
  _history: History,
  _options: { retention: Retention } & HistoryNeeds,
): Promise<HistorySummary> {
  pending();
}

/** One row per Session, in the order of the disk; `.jsonl` files that are no Sessions have no id (`--sessions`). */
export function listSessions(
  _history: History,
  _options: { retention: Retention } & HistoryNeeds,
): AsyncGenerator<SessionRow> {
  pending();
}

/** One row per Session in the trash. */
export function listTrash(
  _history: History,
  _options: { retention: Retention } & HistoryNeeds,
): AsyncGenerator<TrashRow> {
  pending();
}

/** By id, unique start of an id, or path below the sessions directory, in place or in the trash. @throws UsageError */
export async function findSession(
  _history: History,
  _selector: string,
  _options?: HistoryNeeds,
): Promise<{ file: string; id: string | undefined; trashed: boolean }> {
  pending();
}

/** The Session that `pi -c` would continue in this working directory, for `spare`; relative path. */
export function newestSessionFile(_history: History, _cwd: string): string | undefined {
  pending();
}

export async function showSession(
  _history: History,
  _selector: string,
  _options: { retention: Retention } & HistoryNeeds,
): Promise<ShownSession> {
  pending();
}

/** The bytes of one Session as they are now. */
export async function exportSession(
  _history: History,
  _selector: string,
): Promise<{ file: string; bytes: number; content: Readable }> {
  pending();
}

/** A tar of every Session of the domain, with mtimes, by paths below the sessions directory; streamed. */
export async function exportHistory(_history: History, _options?: { trash?: boolean }): Promise<Readable> {
  pending();
}

/** To the trash, or with `now` (or for one in the trash) for good. An open one only with `force`. */
export async function removeSession(
  _history: History,
  _selector: string,
  _options: { now?: boolean; force?: boolean } & HistoryNeeds,
): Promise<RemovedSession> {
  pending();
}

/** Out of the trash to where it was; its age starts anew. Never replaces a file. */
export async function restoreSession(
  _history: History,
  _selector: string,
  _options?: HistoryNeeds,
): Promise<{ from: string; file: string; id: string | undefined }> {
  pending();
}

/** Deletes everything at once, trash included; open Sessions only with `force`. */
export async function clearHistory(
  _history: History,
  _options: { force?: boolean } & HistoryNeeds,
): Promise<ClearReport> {
  pending();
}

/** What was ever deleted, oldest first; `skipped` lines were torn or of a newer version. */
export function readDeletions(
  _history: History,
): AsyncGenerator<{ kind: 'entry'; entry: DeletionEntry } | { kind: 'skipped'; lines: number }> {
  pending();
}
