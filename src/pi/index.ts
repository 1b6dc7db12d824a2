/** The one doorway to pi: its Sessions' files and locks, and the types of its extension interface; see README.md. */
export type * from './extension-api.ts';
export { type NamedSessions, namedSessions } from './named-sessions.ts';
export { missingPackages } from './packages.ts';
export {
  parseSessionHeader,
  parseSessionId,
  readLastEntryId,
  readOpenSessionHeader,
  readSessionFileId,
  readSessionHeader,
  type SessionHeader,
  type SessionId,
  sessionDirectory,
  sessionFolderName,
} from './session-file.ts';
export {
  isSessionOpen,
  readSessionHolder,
  type SessionHolder,
  type SessionLock,
  type SessionLockAttempt,
  type SessionTarget,
  sessionLockDirectory,
  sessionLockFiles,
  trySessionLock,
} from './session-lock.ts';
export {
  type BroughtBack,
  bringBackFromTrash,
  MOST_COPIES,
  nameBeforeTrash,
  TRASH_DIRECTORY,
  trashedName,
} from './session-trash.ts';
