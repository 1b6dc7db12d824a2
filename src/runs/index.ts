export { type ChangeOptions, cancelRun, messageRun } from './change.ts';
export { type CleanedRun, type CleanupOptions, cleanupRun } from './cleanup.ts';
export { createRun } from './create.ts';
export * from './errors.ts';
export * from './events.ts';
export * from './files.ts';
export { findRun, runIds } from './find.ts';
export { type Followed, type FollowOptions, followEvents } from './follow.ts';
export { type CheckedGraph, checkGraph, dependenciesOf, type Graph, type Step } from './graph/graph.ts';
export { graphFileSchema } from './graph/schema.ts';
export { filledPrompt, partsOfPrompt, type TemplateField, type TemplatePart } from './graph/template.ts';
export type { HeldRun } from './held-run.ts';
export * from './ids.ts';
export { type Journal, type JournalLine, openJournal, readEvents } from './journal.ts';
export { LIMITS } from './limits.ts';
export * from './list.ts';
export * from './manifest.ts';
export { type AskedRun, askRun, watchRun } from './owner/client.ts';
export { type LaunchOwnerOptions, launchOwner, OwnerStartError, ownerLog } from './owner/launch.ts';
export type { OwnerDeps, StepWorktrees } from './owner/options.ts';
export { endOrphan, sendToStep } from './owner/orphan.ts';
export { ownRun } from './owner/own.ts';
export { ownerProgram } from './owner/program.ts';
export * from './ownership.ts';
export * from './places.ts';
export * from './protocol.ts';
export { reattachRun, type Snapshot } from './reattach.ts';
export type { RunDeps, StartRequest } from './request.ts';
export * from './scheduler.ts';
export * from './schedules/index.ts';
export * from './status-file.ts';
export {
  KEPT_REASONS,
  type KeptReason,
  SweepBusyError,
  type SweepReport,
  sweepLine,
  sweepRuns,
} from './sweep.ts';
export { holdRun, lockRun, type TakeOptions, takeOwnership } from './take.ts';
export * from './view.ts';
export { type WaitedRun, type WaitForRunOptions, waitForRun } from './wait.ts';
export type { Named, WorktreeLook } from './worktrees/look.ts';
export { openWorktrees, type Worktrees } from './worktrees/open.ts';
export * from './worktrees-file.ts';
