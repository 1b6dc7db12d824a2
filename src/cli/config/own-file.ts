/**
 * Files of the user's own configuration directory. Symlinks are followed, since people keep such directories in a
 * repository of dotfiles; size and kind are still checked (rule 7).
 */
import { realpath, stat } from 'node:fs/promises';
import { readRegularFile, UnsafeFileError } from '../../lib/bounded-read.ts';
import { ConfigError, hasCode, LimitError, messageOf } from '../../lib/errors.ts';

export interface OwnFile {
  readonly content: Buffer;
  readonly executable: boolean;
}

/**
 * The file, or undefined where there is none.
 *
 * @throws ConfigError when it is no regular file, larger than allowed, or cannot be read
 */
export async function readOwnFile(path: string, maxBytes: number): Promise<OwnFile | undefined> {
  try {
    const real = await realpath(path);
    const { mode } = await stat(real);
    const content = await readRegularFile(real, { maxBytes });
    return content && { content, executable: (mode & 0o111) !== 0 };
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    if (error instanceof LimitError) {
      throw new ConfigError(
        path,
        `is longer than the limit for this file, ${Math.ceil(maxBytes / 1024)} KiB`,
      );
    }
    if (error instanceof UnsafeFileError) throw new ConfigError(path, 'is not a regular file');
    throw new ConfigError(path, messageOf(error), { cause: error });
  }
}
