export { acquireRun } from './acquire.ts';
export * from './errors.ts';
export { InvalidWorkNameError, isWorkSegment, type WorkSegment, workSegment } from './names.ts';
export { processRun } from './process-runs.ts';
export { pruneAll, pruneTenant } from './prune.ts';
export type { PruneOptions } from './pruning.ts';
export { DEFAULT_RETENTION, RETENTION_CEILING, retentionOf, TOTAL_BYTES } from './retention.ts';
export type * from './types.ts';
