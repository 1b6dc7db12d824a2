/** Session history of one domain: retention, trash, listing, log; see README.md. */

export * from './pending.ts';
export type * from './types.ts';
