/**
 * Reading small files of many jobs or runs, one after the other, without a promise for each: of ten thousand that would be
 * most of the time. As careful as `bounded-read.ts` otherwise: a regular file only, no link, a stated size.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { hasCode, LimitError, OperationError } from './errors.ts';
import { FileError } from './file-error.ts';

const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/** The most bytes that are read of one file, unless its reader says otherwise. */
export const QUICK_BYTES = 256 * 1_024;
/** For all but the largest files. */
let room: Buffer | undefined;

/** One word, or a time. */
const WORD_BYTES = 4_096;

/** The file as text; undefined where there is none. @throws FileError, LimitError */
export function quickRead(path: string, maxBytes: number = QUICK_BYTES): string | undefined {
  return reading(path, (fd) => {
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw new OperationError('it is not a regular file');
    if (stats.size > maxBytes) throw new LimitError(`it is longer than ${maxBytes} bytes`);
    // State files are whole and never change once they have their name, so one read has all.
    return textOf(fd, stats.size);
  });
}

/**
 * As {@link quickRead}, for a file of one word, without a look at what the file is: of whatever else stands there nothing
 * is read, and nothing waits.
 */
export function quickWord(path: string): string | undefined {
  return reading(path, (fd) => textOf(fd, WORD_BYTES).trim());
}

function reading(path: string, read: (fd: number) => string): string | undefined {
  let fd: number;
  try {
    fd = openSync(path, FLAGS);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw new FileError('read', path, hasCode(error, 'ELOOP') ? new OperationError('it is a link') : error);
  }
  try {
    return read(fd);
  } catch (error) {
    throw new FileError('read', path, error);
  } finally {
    closeSync(fd);
  }
}

function textOf(fd: number, bytes: number): string {
  room ??= Buffer.allocUnsafeSlow(QUICK_BYTES);
  const into = bytes > QUICK_BYTES ? Buffer.allocUnsafeSlow(bytes) : room;
  return into.toString('utf8', 0, readSync(fd, into, 0, bytes, 0));
}
