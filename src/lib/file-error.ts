/** What the file system refuses, as one line with the path and, where there is one, the next step (rule 5). */
import { readlinkSync } from 'node:fs';
import { messageOf, OperationError } from './errors.ts';

const NEXT_STEPS: Record<string, string> = {
  ENOSPC: 'free space on that file system and try again',
  EDQUOT: 'free space within the quota and try again',
  EACCES: 'check its owner and permissions',
  EPERM: 'check its owner and permissions',
  EROFS: 'that file system is read-only',
};

export class FileError extends OperationError {
  readonly path: string;
  /** Node's code (`ENOENT`, …), so that `hasCode` works on this error too. */
  readonly code: string | undefined;

  /** `doing` completes "cannot …": `write`, `lock`, `read`. */
  constructor(doing: string, given: string, cause: unknown) {
    const path = spelledOut(given);
    const code = codeOf(cause);
    super(`cannot ${doing} ${path}: ${reasonOf(cause)}`, { cause, hint: code && NEXT_STEPS[code] });
    this.path = path;
    this.code = code;
  }
}

/** A path through one of our open directories (`directory-handle.ts`) says nothing to people: where that really is. */
export function spelledOut(path: string): string {
  const [, directory, rest = ''] = /^(\/proc\/(?:\d+|self)\/fd\/\d+)(\/.*)?$/s.exec(path) ?? [];
  if (directory === undefined) return path;
  try {
    return `${readlinkSync(directory)}${rest}`;
  } catch {
    return path;
  }
}

/** Node's `ENOSPC: no space left on device, write '/x'` without what is said already. */
function reasonOf(error: unknown): string {
  const reason = messageOf(error);
  return codeOf(error) ? reason.replace(/^[A-Z0-9]+: /, '').replace(/, [a-z]+(?: '.*)?$/, '') : reason;
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
