export {
  type AgentDir,
  type AgentDirSource,
  agentDirAt,
  agentDirFrom,
  getAgentDir,
} from './agent-directory.ts';
export {
  type AgentDirAudit,
  AUDIT_LISTS,
  type AuditEntry,
  type AuditOptions,
  auditAgentDir,
} from './audit/audit.ts';
export * from './layout.ts';
export { DEFAULT_BUDGET, memoryBudget } from './memory/budget.ts';
export {
  editMemory,
  type MemoryEdit,
  type MemoryOptions,
  type MemoryResult,
  type MemoryState,
  readMemory,
} from './memory/memory.ts';
export { AmbiguousTextError, NotInProfileError } from './memory/profile.ts';
export { promptText } from './memory/prompt.ts';
export { type LiveMark, markLive } from './migration/live.ts';
export { type MigrationOptions, migrateAgentDirLayout, openAgentDir } from './migration/migrate.ts';
export type { MigrationReport, MigrationStep } from './migration/report.ts';
export * from './places.ts';
export { type Decisions, isTrusted, parseDecisions } from './trust.ts';
export * from './work-root.ts';
