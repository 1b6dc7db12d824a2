export * from './control/protocol.ts';
export * from './control/socket-path.ts';
export * from './files.ts';
export type { HeldJob } from './held-job.ts';
export * from './names.ts';
export * from './places.ts';
export * from './record.ts';
export * from './status.ts';
