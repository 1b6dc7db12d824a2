/** Names of categories, tenants, runs and namespaces: the same few on every platform (W2). */
import { UsageError } from '../lib/errors.ts';

/** One component of a work directory's path, checked. */
export type WorkSegment = string & { readonly kind: 'WorkSegment' };

/** Which run it is: its path below the work root, in its parts. */
export interface WorkRunName {
  readonly category: WorkSegment;
  readonly tenant: WorkSegment;
  readonly runId: WorkSegment;
}

/** A name that is none on some platform, or would be another one there (W2). */
export class InvalidWorkNameError extends UsageError {
  /** What was named: `category`, `tenant`, `run id`, `namespace`. */
  readonly what: string;
  readonly given: string;

  constructor(what: string, given: string, reason: string) {
    super(`${JSON.stringify(given.slice(0, 100))} is no ${what}: ${reason}`, {
      hint: 'use 1 to 64 lower-case letters, digits, ".", "_" and "-", beginning with a letter or digit',
    });
    this.what = what;
    this.given = given;
  }
}

const MAX_LENGTH = 64;
const SEGMENT = /^[a-z0-9][a-z0-9._-]*$/;
/** Devices on Windows, whatever follows the first dot. `clock$` is one too; its `$` is refused anyway. */
const RESERVED = /^(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\.|$)/;

/** Why a text is no name; undefined for one that is. */
function objection(text: string): string | undefined {
  if (text === '') return 'it is empty';
  if (text.length > MAX_LENGTH) return `it is longer than ${MAX_LENGTH} characters`;
  // Refused and not folded: two names that differ in case only are one on some file systems.
  if (/[A-Z]/.test(text)) return 'it has upper-case letters';
  if (!SEGMENT.test(text)) return 'it has a character that a name cannot have, or begins with one';
  if (text.endsWith('.')) return 'it ends with a dot';
  if (RESERVED.test(text)) return 'Windows keeps that name for a device';
  return undefined;
}

export function isWorkSegment(text: string): text is WorkSegment {
  return objection(text) === undefined;
}

/**
 * Checks a name (W2).
 *
 * @param what names it in the error
 * @throws InvalidWorkNameError
 */
export function workSegment(what: string, text: string): WorkSegment {
  if (isWorkSegment(text)) return text;
  throw new InvalidWorkNameError(what, text, objection(text) ?? '');
}

/** `<category>/<tenant>/<run id>`, as people read it. */
export function runPath({ category, tenant, runId }: WorkRunName): string {
  return `${category}/${tenant}/${runId}`;
}
