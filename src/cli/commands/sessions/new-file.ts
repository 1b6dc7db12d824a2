/** A file that is there whole or not at all, and never in the place of another. */
import { createWriteStream, unlinkSync } from 'node:fs';
import { link, lstat, rename, unlink } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { hasCode, PiSandboxError, UsageError } from '../../../lib/errors.ts';
import { FileError } from '../../../lib/file-error.ts';
import { randomId } from '../../../lib/ids.ts';

export interface NewFile {
  /** @throws FileError, and what the content throws */
  write(content: AsyncIterable<Buffer>): Promise<void>;
  /** All of it has come: from now on it has its name. @throws UsageError when something stands there */
  finish(): Promise<void>;
  /** Takes away what is unfinished; nothing after `finish`. */
  discard(): void;
}

/**
 * Content is written beside its place first, readable to the user alone; Ctrl-C leaves nothing of it either.
 *
 * @throws UsageError when something stands there
 */
export async function newFile(path: string): Promise<NewFile> {
  await requireFree(path);
  const unfinished = `${path}.${randomId(4)}.part`;
  const remove = (): void => {
    try {
      unlinkSync(unfinished);
    } catch {
      // It has its own name by now, or was never made.
    }
  };
  process.once('exit', remove);
  const told = async (work: Promise<void>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      if (error instanceof PiSandboxError || !hasCode(error, ...FILE_TROUBLE)) throw error;
      throw new FileError('write', path, error);
    }
  };
  return {
    write: (content) => told(pipeline(content, createWriteStream(unfinished, { flags: 'wx', mode: 0o600 }))),
    finish: () => told(putInPlace(unfinished, path)),
    discard() {
      remove();
      process.off('exit', remove);
    },
  };
}

const FILE_TROUBLE = [
  'ENOENT',
  'ENOTDIR',
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOSPC',
  'EDQUOT',
  'ENAMETOOLONG',
  'EIO',
];

/** A hard link fails where a file stands, which a rename would replace. */
async function putInPlace(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
    await unlink(from);
  } catch (error) {
    if (hasCode(error, 'EEXIST')) throw taken(to);
    if (!hasCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK')) throw error;
    await requireFree(to);
    await rename(from, to);
  }
}

async function requireFree(path: string): Promise<void> {
  try {
    await lstat(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    throw new FileError('write', path, error);
  }
  throw taken(path);
}

function taken(path: string): UsageError {
  return new UsageError(`${path} is there already`, { hint: 'choose a name that is free' });
}
