export { type Descendants, openDescendants } from './budget/descendants.ts';
export * from './control/client.ts';
export * from './control/protocol.ts';
export * from './control/socket-path.ts';
export { conversationTarget } from './conversation.ts';
export { createJob, type JobDeps, type JobSettings, type JobSpec } from './create.ts';
export { endDeadJob } from './dead-job.ts';
export * from './errors.ts';
export { below, type JobTree, treesOf } from './family.ts';
export * from './files.ts';
export type { HeldJob } from './held-job.ts';
export { endJobProcesses, type HuntOptions, type HuntReport } from './hunt/end-processes.ts';
export { DEPTH_VARIABLE, detachedEnvironment, JOB_VARIABLE } from './hunt/marks.ts';
export { type LaunchOptions, launchRunner, RunnerStartError } from './launch.ts';
export { type BrokenJob, findJob, type JobList, listJobs } from './list.ts';
export * from './names.ts';
export { markNotified } from './notify.ts';
export * from './places.ts';
export { type JobRequest, jobSpec } from './prepare.ts';
export { type AgentPrompts, agentPrompts } from './profiles/agent-prompt.ts';
export { type FoundProfile, findProfile, listProfiles, type ProfilePlaces } from './profiles/find.ts';
export { type Profile, THINKING_LEVELS } from './profiles/profile.ts';
export { readProgress } from './progress-tail.ts';
export { type Caller, callerOf, type JobProject, placeBelow, projectAt } from './project.ts';
export { type JobPruneReport, type PruneOptions, pruneJobs } from './prune.ts';
export * from './record.ts';
export { type RemoveDeps, type RemovedJob, removeJob, removing } from './remove.ts';
export { type ReopenDeps, type RunSettings, reopenJob } from './reopen.ts';
export type { RunEnd } from './runner/life.ts';
export type { RunOptions } from './runner/options.ts';
export type { PiProgram } from './runner/pi-command.ts';
export { runnerProgram } from './runner/program.ts';
export { runJob } from './runner/run-job.ts';
export * from './status.ts';
export {
  addUsage,
  NO_USAGE,
  parseUsage,
  readUsage,
  type Usage,
  usageSince,
  type WrittenUsage,
  writtenUsage,
} from './usage.ts';
export { type JobView, readJob, readStatus } from './view.ts';
export { jobEnd, type Waited, waitForJobs } from './wait.ts';
