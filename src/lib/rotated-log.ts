/** A log of JSON lines that never grows past a bound: the file, and the one before it (rule 7). */
import { rename, stat } from 'node:fs/promises';
import { hasCode } from './errors.ts';
import { FileError } from './file-error.ts';
import { appendJsonLine } from './jsonl.ts';

/**
 * Adds a line, on the disk when it resolves; a file that has reached the bound becomes `<path>.1` first. One writer at a time.
 *
 * @throws FileError
 */
export async function appendToRotatedLog(path: string, value: unknown, maxBytes: number): Promise<void> {
  try {
    if ((await stat(path)).size >= maxBytes) await rename(path, `${path}.1`);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw new FileError('rotate', path, error);
  }
  await appendJsonLine(path, value, { sync: true, follow: false });
}
