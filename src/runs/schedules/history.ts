/** What has become of a schedule's instants, a line each: for people and `schedule list`. It decides nothing. */
import { stat } from 'node:fs/promises';
import * as z from 'zod/mini';
import { writeFileAtomic } from '../../lib/atomic-file.ts';
import { openRegularFile } from '../../lib/bounded-read.ts';
import { hasCode } from '../../lib/errors.ts';
import { appendJsonLine, readJsonLines } from '../../lib/jsonl.ts';
import type { RunsPlace } from '../places.ts';
import { historyFile } from './files.ts';
import type { ScheduleId } from './ids.ts';

/** A longer one loses its older half. */
const MOST_BYTES = 128 * 1_024;
const KEPT_LINES = 200;
const LINE_BYTES = 16 * 1_024;

let schema: ReturnType<typeof makeSchema> | undefined;

function makeSchema() {
  const text = z.string();
  return z.object({
    version: z.literal(1),
    /** ISO 8601: when this was written, and which instant it is about. */
    at: text,
    instant: text,
    /** `skipped`: the run before went on; `missed`: nothing ran then; `failed`: it is tried again. */
    what: z.enum(['started', 'queued', 'skipped', 'missed', 'failed']),
    runId: z.nullable(text),
    reason: z.nullable(text),
  });
}

export type HistoryLine = z.infer<ReturnType<typeof makeSchema>>;

/** In the order of writing; lines of another form are passed over. @throws FileError, UnsafeFileError */
export async function readHistory(place: RunsPlace, id: ScheduleId): Promise<HistoryLine[]> {
  schema ??= makeSchema();
  const handle = await openRegularFile(historyFile(place, id));
  if (handle === undefined) return [];
  try {
    const lines: HistoryLine[] = [];
    for await (const line of readJsonLines(handle, { maxLineBytes: LINE_BYTES, maxBytes: 2 * MOST_BYTES })) {
      const parsed = z.safeParse(schema, line.kind === 'problem' ? undefined : line.value);
      if (parsed.success) lines.push(parsed.data);
    }
    return lines;
  } finally {
    await handle.close();
  }
}

/** Under the schedule's lock. @throws FileError */
export async function appendHistory(place: RunsPlace, id: ScheduleId, line: HistoryLine): Promise<void> {
  const path = historyFile(place, id);
  if ((await sizeOf(path)) > MOST_BYTES) {
    const kept = (await readHistory(place, id)).slice(-KEPT_LINES);
    await writeFileAtomic(path, kept.map((each) => `${JSON.stringify(each)}\n`).join(''), { follow: false });
  }
  await appendJsonLine(path, line, { follow: false });
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 0;
    throw error;
  }
}
