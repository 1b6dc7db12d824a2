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

/** One line of JSON. */
export function encodeLockRecord(record: LockRecord): Buffer {
  return Buffer.from(`${JSON.stringify(record)}\n`);
}

/** The record in a lock file; undefined where there is none that can be read. */
export function readLockRecord(path: string): LockRecord | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const buffer = Buffer.alloc(MAX_BYTES);
    const bytes = readSync(fd, buffer, 0, MAX_BYTES, 0);
    return z.safeParse(LockRecord, JSON.parse(buffer.toString('utf8', 0, bytes))).data;
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
