/** Session history of one domain: retention, trash, listing, log; see README.md. */
export { bringBackNamed } from './bring-back.ts';
export { type BroughtBackSession, logBroughtBack } from './brought-back.ts';
export { type ClearOptions, clearHistory } from './clear.ts';
export { type LogLine, readDeletions } from './deletion-log.ts';
export { exportHistory, exportSession } from './export.ts';
// From before domains had their own (S12): legacy/README.md.
export { clearLegacyStore, surveyLegacy } from './legacy/clear.ts';
export { LegacyMessage, LegacyRequest } from './legacy/helper.ts';
export { isSettled as isLegacySettled, oldHistoryLeft } from './legacy/marker.ts';
export { migrateLegacy } from './legacy/migrate.ts';
export type { MigrationOptions, MigrationProgress } from './legacy/options.ts';
export {
  LEGACY_VERSION,
  type LegacyClearReport,
  type LegacyContent,
  type LegacyTally,
  type MigrationReport,
} from './legacy/report.ts';
export { LEGACY_SEAL } from './legacy/store.ts';
export { announceStart, isNamed, type NamedHere, namesNothing } from './named.ts';
export { acknowledgeFirstDeletion, pruneMessages } from './notice.ts';
export { HistoryBusyError } from './own-directory.ts';
export { pruneHistory } from './prune.ts';
export { type RemoveOptions, removeSession, SessionOpenError } from './remove.ts';
export { restoreSession } from './restore.ts';
export { listSessions, listTrash } from './rows.ts';
export {
  AmbiguousSessionError,
  findSession,
  newestSessionFile,
  SessionNotFoundError,
} from './select.ts';
export { showSession } from './show.ts';
export { type ListOptions, summarizeHistory } from './summary.ts';
export { domainOfCwd } from './table.ts';
// Sessions that come from a plain pi, or go to one (S15).
export {
  type SessionSource,
  type SessionSurvey,
  sessionsOfDomain,
  surveySessions,
} from './transfer/collect.ts';
export { receiveSessions } from './transfer/receive.ts';
export { ArrivalReport } from './transfer/report.ts';
export { openArrival } from './transfer/stage.ts';
export type * from './types.ts';
