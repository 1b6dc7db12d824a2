/**
 * `.pi-work/deletions.log`: every run that was removed (rule 3). Before anything is done to it a line says what goes and
 * why, after it another says how large it was, or that it or a part of it stayed. So no crash leaves a deletion unlogged.
 */
import { renameChild, statChild } from '../lib/directory-entries.ts';
import type { DirectoryHandle } from '../lib/directory-handle.ts';
import { hasCode } from '../lib/errors.ts';
import { appendJsonLines } from '../lib/jsonl.ts';
import { LOG_FILE } from './layout.ts';
import type { RemovalReason } from './types.ts';

const VERSION = 1;
/** The log and what it was before: some 60,000 removals (rule 7). */
const MAX_BYTES = 8 * 1024 * 1024;
const OLDER_FILES = 3;

/** One line. `run` is `<category>/<tenant>/<run id>`; times are ISO 8601, UTC. */
export type LogLine =
  | {
      readonly event: 'removing';
      readonly run: string;
      readonly why: RemovalReason;
      readonly lastUse: string;
    }
  | { readonly event: 'removed'; readonly run: string; readonly bytes: number; readonly entries: number }
  /** It stayed after all: somebody uses it by now, or the system refused. */
  | { readonly event: 'kept'; readonly run: string; readonly reason: string }
  /** Found half deleted: the process that began was ended. */
  | { readonly event: 'resuming'; readonly run: string }
  | { readonly event: 'unfinished'; readonly run: string; readonly reason: string };

/** @throws FileError */
export async function appendLog(
  own: DirectoryHandle,
  lines: readonly LogLine[],
  now: Date,
  { sync }: { sync: boolean },
): Promise<void> {
  if (lines.length === 0) return;
  const at = now.toISOString();
  const values = lines.map((line) => ({ version: VERSION, at, ...line }));
  await appendJsonLines(own.at(LOG_FILE), values, { sync, follow: false });
}

/**
 * Announces removals. A disk that has no room for that is told of what went when some was made, and so gets room.
 *
 * @returns the lines that are still to be written
 */
export async function announce(
  own: DirectoryHandle,
  lines: readonly LogLine[],
  now: Date,
): Promise<readonly LogLine[]> {
  try {
    await appendLog(own, lines, now, { sync: true });
    return [];
  } catch (error) {
    if (hasCode(error, 'ENOSPC', 'EDQUOT')) return lines;
    throw error;
  }
}

/** Under the prune lock: two that rotate at once would drop a part. */
export function rotateLog(own: DirectoryHandle, maxBytes = MAX_BYTES): void {
  if ((statChild(own, LOG_FILE)?.size ?? 0) < maxBytes) return;
  for (let age = OLDER_FILES; age >= 1; age--) {
    const newer = age === 1 ? LOG_FILE : `${LOG_FILE}.${age - 1}`;
    if (statChild(own, newer)) renameChild(own, newer, own, `${LOG_FILE}.${age}`);
  }
}
