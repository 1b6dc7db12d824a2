/** Session history of one domain: retention, trash, listing, log; see README.md. */
export { type ClearOptions, clearHistory } from './clear.ts';
export { type LogLine, readDeletions } from './deletion-log.ts';
export { exportHistory, exportSession } from './export.ts';
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
export type * from './types.ts';
