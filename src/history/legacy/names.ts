/** Names of ours among the Sessions, in the store and in a domain's directory. */

const OWN = '.pi-sandbox-';
/** In front of the lock's temporary file, and of the directory in which copies wait until they are whole. */
export const STAGE_PREFIX = `${OWN}tmp-`;
/** In a domain's sessions directory: which decisions its old history was sorted by. */
export const MARKER = `${OWN}legacy.json`;
/** In the store: what was ever deleted there, one JSON line each. */
export const CLEAR_LOG = `${OWN}legacy-log.jsonl`;
/** In the store: the lock files, with a number behind it. */
export const LOCK_PREFIX = `${OWN}legacy-lock-`;

/** The end of the names that pi gives to Sessions. */
export const SESSION_END = '.jsonl';

export function isOwn(name: string): boolean {
  return name.startsWith(OWN);
}

/** Never history: pi hides nothing of it so. */
export function isHidden(name: string): boolean {
  return name.startsWith('.');
}
