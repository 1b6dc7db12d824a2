/** The files of schedules: read by anybody, written and removed under a schedule's lock only. */
import { createHash } from 'node:crypto';
import { readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { makeStateDirectory, writeFileAtomic } from '../../lib/atomic-file.ts';
import { readRegularFile } from '../../lib/bounded-read.ts';
import { hasCode, messageOf, PiSandboxError } from '../../lib/errors.ts';
import { FileError } from '../../lib/file-error.ts';
import { type KernelLock, takeLock } from '../../lib/kernel-lock.ts';
import { type FileFacts, jsonFileText } from '../manifest.ts';
import { type RunsPlace, schedulesDirectory } from '../places.ts';
import { isScheduleId, type ScheduleId } from './ids.ts';
import { parseSchedule, SCHEDULE_BYTES, type Schedule } from './schedule.ts';

const SUFFIX = '.json';
/** Lock files are never deleted, and schedules are: so all have one file, and each a byte of it. */
const LOCK_FILE = '.lock';
const ADDING_BYTE = 0;

/** @throws FileError */
export async function scheduleIds(place: RunsPlace): Promise<ScheduleId[]> {
  const directory = schedulesDirectory(place);
  let names: string[];
  try {
    names = await readdir(directory);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw new FileError('read', directory, error);
  }
  return names
    .filter((name) => name.endsWith(SUFFIX))
    .map((name) => name.slice(0, -SUFFIX.length))
    .filter(isScheduleId)
    .sort();
}

export async function readSchedule(place: RunsPlace, id: ScheduleId): Promise<FileFacts<Schedule>> {
  let bytes: Buffer | undefined;
  try {
    bytes = await readRegularFile(scheduleFile(place, id), { maxBytes: SCHEDULE_BYTES });
  } catch (error) {
    if (!(error instanceof PiSandboxError)) throw error;
    return { kind: 'damaged', reason: messageOf(error) };
  }
  return bytes === undefined ? { kind: 'none' } : parseSchedule(bytes.toString('utf8'), id);
}

/** @throws FileError */
export function writeSchedule(place: RunsPlace, schedule: Schedule): Promise<void> {
  return writeFileAtomic(scheduleFile(place, schedule.scheduleId), jsonFileText(schedule), { follow: false });
}

/** @throws FileError */
export async function deleteSchedule(place: RunsPlace, id: ScheduleId): Promise<void> {
  for (const path of [scheduleFile(place, id), historyFile(place, id)]) {
    try {
      await unlink(path);
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw new FileError('remove', path, error);
    }
  }
}

/** What has become of its instants. */
export function historyFile(place: RunsPlace, id: ScheduleId): string {
  return join(schedulesDirectory(place), `${id}.history.jsonl`);
}

/** @throws LockTakenError when somebody has it for longer than `waitMs`; FileError */
export function lockSchedule(place: RunsPlace, id: ScheduleId, waitMs?: number): Promise<KernelLock> {
  // Two of the same byte wait for each other, which does no harm.
  const byte = 1 + createHash('sha256').update(id).digest().readUInt32BE();
  return lockByte(place, byte, waitMs);
}

/** So that the number of schedules is bounded, and a name is one's. Makes the directory. */
export async function lockAdding(place: RunsPlace, waitMs: number): Promise<KernelLock> {
  await makeStateDirectory(place.root);
  await makeStateDirectory(schedulesDirectory(place));
  return lockByte(place, ADDING_BYTE, waitMs);
}

function lockByte(place: RunsPlace, offset: number, waitMs?: number): Promise<KernelLock> {
  const path = join(schedulesDirectory(place), LOCK_FILE);
  return takeLock(path, { range: { offset, length: 1 }, ...(waitMs === undefined ? {} : { waitMs }) });
}

function scheduleFile(place: RunsPlace, id: ScheduleId): string {
  return join(schedulesDirectory(place), `${id}${SUFFIX}`);
}
