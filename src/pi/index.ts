/**
 * The one doorway to pi: its Sessions' files and locks, the client of its RPC mode, and the types of its extension
 * interface; see README.md.
 */
export type * from './extension-api.ts';
export { type NamedSessions, namedSessions } from './named-sessions.ts';
export { missingPackages } from './packages.ts';
export { openPiRpc, type PiEnd, type PiRpc, type PiRpcOptions } from './rpc/client.ts';
export type { DialogHandler, PiDialog, PiDialogAnswer } from './rpc/dialogs.ts';
export {
  PiBusyError,
  PiDialogError,
  PiEndedError,
  PiGarbageError,
  PiLineTooLongError,
  PiRefusedError,
  PiSilentError,
  PiStartError,
  PiSurvivesError,
} from './rpc/errors.ts';
export {
  type KnownPiEvent,
  type PiDialogEvent,
  type PiEvent,
  type PiMessage,
  type PiProblem,
  type PiUsage,
  textOfMessage,
  type UnknownPiEvent,
} from './rpc/events.ts';
export type { PiExit } from './rpc/exit.ts';
export { RPC_LIMITS, type RpcLimits } from './rpc/limits.ts';
export { type PiCommand, type PiProcess, spawnPi } from './rpc/process.ts';
export type { Acceptance, Receipt, Turn } from './rpc/prompting.ts';
export type { PiImage } from './rpc/requests.ts';
export type { PiQueue, PiState, PiStats } from './rpc/responses.ts';
export type { Tail } from './rpc/stderr-tail.ts';
export type { FailureCause, TurnOutcome } from './rpc/turn.ts';
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
