/** Reading and writing the files of the profile (W11). They may be anything: people and other programs write them (rule 8). */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { writeFileAtomic } from '../../lib/atomic-file.ts';
import { readRegularFile } from '../../lib/bounded-read.ts';
import { OperationError } from '../../lib/errors.ts';

/**
 * The text of a file, or undefined where there is none. In a sandbox it stands behind a link of ours, and on a user's
 * machine perhaps behind one of theirs, so links are followed; what is no regular file is refused.
 *
 * @throws UnsafeFileError, LimitError, FileError, OperationError for what is no text
 */
export async function readText(path: string, maxBytes: number): Promise<string | undefined> {
  const content = await readRegularFile(path, { maxBytes, within: '/' });
  if (content === undefined) return undefined;
  if (!isUtf8(content) || content.includes(0)) {
    throw new OperationError(`${path} is no text`, { hint: 'look at it, and move it away' });
  }
  return content
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .replace(/\r\n?/g, '\n');
}

/** One that stands there already is left as it is. */
export async function writeText(path: string, text: string, maxBytes: number): Promise<void> {
  if ((await readText(path, maxBytes)) !== text) await writeFileAtomic(path, text);
}

export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
