/** A file that is there whole or not at all, and never in another's place; the second call after a kill tidies up (S15). */
import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import {
  linkChild,
  renameChild,
  statChild,
  syncDirectory,
  unlinkChild,
} from '../../../lib/directory-entries.ts';
import { type DirectoryHandle, openChildFile } from '../../../lib/directory-handle.ts';
import { hasCode, messageOf, OperationError } from '../../../lib/errors.ts';

export type PutOutcome =
  | { readonly outcome: 'written' | 'there' }
  /** Another file has the name, or something that is no file. */
  | { readonly outcome: 'kept'; readonly reason: string };

/**
 * Writes a file where there is none yet. Its owner is the directory's when root writes.
 *
 * @throws FileError
 */
export function putNewFile(
  directory: DirectoryHandle,
  name: string,
  content: Uint8Array,
  mode: number,
): PutOutcome {
  // Always the same for a name, so that nothing is left over when a killed call is repeated.
  const fresh = `.pi-sandbox-tmp-${createHash('sha256').update(name).digest('hex').slice(0, 32)}`;
  if (statChild(directory, fresh)?.isFile()) unlinkChild(directory, fresh);
  const present = presentOutcome(directory, name, content);
  if (present !== undefined) return present;
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
  const { fd } = openChildFile(directory, fresh, flags);
  try {
    writeFileSync(fd, content);
    const owner = fstatSync(directory.fd);
    if (process.geteuid?.() === 0) fchownSync(fd, owner.uid, owner.gid);
    fchmodSync(fd, mode);
    fsyncSync(fd);
    giveName(directory, fresh, name);
  } catch (error) {
    if (statChild(directory, fresh) !== undefined) unlinkChild(directory, fresh);
    const taken = hasCode(error, 'EEXIST') ? presentOutcome(directory, name, content) : undefined;
    if (taken !== undefined) return taken;
    throw error;
  } finally {
    closeSync(fd);
  }
  syncDirectory(directory);
  return { outcome: 'written' };
}

function giveName(directory: DirectoryHandle, fresh: string, name: string): void {
  try {
    linkChild(directory, fresh, directory, name);
  } catch (error) {
    // No second names on that file system.
    if (!hasCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK')) throw error;
    if (statChild(directory, name) !== undefined)
      throw Object.assign(new OperationError(`${name} exists`), { code: 'EEXIST' });
    renameChild(directory, fresh, directory, name);
    return;
  }
  unlinkChild(directory, fresh);
}

function presentOutcome(
  directory: DirectoryHandle,
  name: string,
  content: Uint8Array,
): PutOutcome | undefined {
  const stats = statChild(directory, name);
  if (stats === undefined) return undefined;
  if (!stats.isFile()) return { outcome: 'kept', reason: 'something that is no regular file stands there' };
  if (stats.size !== content.length) return { outcome: 'kept', reason: 'another file is there' };
  try {
    const { fd } = openChildFile(directory, name);
    try {
      const same = readFileSync(fd).equals(content);
      return same ? { outcome: 'there' } : { outcome: 'kept', reason: 'another file is there' };
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    return { outcome: 'kept', reason: messageOf(error) };
  }
}
