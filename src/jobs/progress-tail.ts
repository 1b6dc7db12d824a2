/** The last lines of `progress.log`, without what is before them (J6). */
import { openRegularFile } from '../lib/bounded-read.ts';
import { FileError } from '../lib/file-error.ts';
import { jobFile } from './files.ts';
import type { JobDirectory } from './places.ts';

/** A line has 2 KB at most; of more lines than fit here the first ones are left out. */
const MAX_BYTES = 1_048_576;

/** @throws FileError */
export async function readProgress(directory: JobDirectory, lines: number): Promise<readonly string[]> {
  const path = jobFile(directory, 'progress.log');
  const handle = await openRegularFile(path);
  if (handle === undefined) return [];
  try {
    const { size } = await handle.stat();
    const length = Math.min(size, MAX_BYTES);
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(length), 0, length, size - length);
    const found = buffer.toString('utf8', 0, bytesRead).split('\n');
    // What is before the first line end may be the end of a line only.
    if (length < size) found.shift();
    if (found.at(-1) === '') found.pop();
    return lines === 0 ? [] : found.slice(-lines);
  } catch (error) {
    throw new FileError('read', path, error);
  } finally {
    await handle.close();
  }
}
