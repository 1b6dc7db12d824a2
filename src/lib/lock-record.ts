/** What stands in a lock file, for people to read. It may be absent, stale or torn, and decides nothing (rule 1). */
import { closeSync, constants, openSync, readSync } from 'node:fs';
import * as z from 'zod/mini';

const MAX_BYTES = 4_096;
const text = z.string().check(z.maxLength(1_000));

export const LockRecord = z.object({
  /** As its own container numbers it. */
  pid: z.int(),
  /** In a container: the sandbox's name. */
  host: text,
  startedAt: text,
  /** What holds the lock, as the user would name it: `session 1f3a…`, `job build`. */
  what: text,
});
export type LockRecord = z.infer<typeof LockRecord>;

/** One line of JSON, the process number first. */
export function encodeLockRecord({ pid, host, startedAt, what }: LockRecord): Buffer {
  return Buffer.from(`${JSON.stringify({ pid, host, startedAt, what })}\n`);
}

/** The record in a lock file; undefined where there is none that can be read. */
export function readLockRecord(path: string): LockRecord | undefined {
  const text = readText(path);
  return text === undefined ? undefined : parseRecord(text);
}

/**
 * What a crash may leave of a record: nothing, the beginning of one, or a line of zeros; and a whole one. False for any
 * other content, which is no lock file's of ours.
 */
export function mayBeLockRecord(path: string): boolean {
  const text = readText(path);
  if (text === undefined) return false;
  if (parseRecord(text) !== undefined || /^\0*$/.test(text)) return true;
  return !text.includes('\n') && (text.startsWith(BEGINNING) || BEGINNING.startsWith(text));
}

/** Of every record: {@link encodeLockRecord} writes what {@link LockRecord} names first. */
const BEGINNING = '{"pid":';

function parseRecord(text: string): LockRecord | undefined {
  try {
    return z.safeParse(LockRecord, JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function readText(path: string): string | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const buffer = Buffer.alloc(MAX_BYTES);
    return buffer.toString('utf8', 0, readSync(fd, buffer, 0, MAX_BYTES, 0));
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
