/** The one doorway to pi: its Sessions' files and locks, and the types of its extension interface. */
export type * from './extension-api.ts';
