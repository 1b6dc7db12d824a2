/** The files of a job beside `job.json` (J2): their names, their bounds, and how each is read and written. */
import { constants } from 'node:fs';
import { type FileHandle, open, readdir, unlink } from 'node:fs/promises';
import { isAtomicTemporary, writeFileAtomic } from '../lib/atomic-file.ts';
import { readRegularFile } from '../lib/bounded-read.ts';
import { hasCode, LimitError, OperationError } from '../lib/errors.ts';
import { FileError } from '../lib/file-error.ts';
import type { JobDirectory } from './places.ts';

/** Held by the runner as long as it lives, and by nothing that it starts. */
export const LOCK_FILE = 'lock';

/** Small files that are whole or absent. */
const SMALL_FILES = [
  'status',
  'started_at',
  'ended_at',
  'runs',
  'exit_code',
  'model',
  'reason',
  'usage.json',
] as const;
/** Texts without a small bound: what was asked, and what came of it. */
const TEXT_FILES = ['prompt.txt', 'system-prompt.md', 'append-prompt.md', 'output.txt'] as const;
/** Logs, appended to. */
const LOG_FILES = ['stderr.txt', 'progress.log', 'runner.log'] as const;

export type SmallFile = (typeof SMALL_FILES)[number];
export type TextFile = (typeof TEXT_FILES)[number];
export type LogFile = (typeof LOG_FILES)[number];
export type JobFile = SmallFile | TextFile | LogFile;
export const JOB_FILES: readonly JobFile[] = [...SMALL_FILES, ...TEXT_FILES, ...LOG_FILES];

/** What the next run clears before anything else: so these always tell of the latest one (J2). */
export const CLEARED_BY_A_RUN = [
  'exit_code',
  'ended_at',
  'reason',
  'output.txt',
  'model',
  'stderr.txt',
  'runner.log',
] as const satisfies readonly JobFile[];

const SMALL_BYTES = 64 * 1_024;
/** As much as one line of pi's may have. */
const TEXT_BYTES = 16 * 1_024 * 1_024;

export function jobFile(directory: JobDirectory, name: JobFile | typeof LOCK_FILE): string {
  return `${directory}/${name}`;
}

/** A small file's content without its line end; undefined where there is none. @throws FileError, LimitError */
export async function readSmall(directory: JobDirectory, name: SmallFile): Promise<string | undefined> {
  const bytes = await readRegularFile(jobFile(directory, name), { maxBytes: SMALL_BYTES });
  return bytes?.toString('utf8').replace(/\n$/, '');
}

/** A text, as it was given. @throws FileError, LimitError */
export async function readText(directory: JobDirectory, name: TextFile): Promise<string | undefined> {
  const bytes = await readRegularFile(jobFile(directory, name), { maxBytes: TEXT_BYTES });
  return bytes?.toString('utf8');
}

/** @throws FileError */
export function writeSmall(directory: JobDirectory, name: SmallFile, value: string): Promise<void> {
  return writeFileAtomic(jobFile(directory, name), `${value}\n`, { follow: false });
}

/** @throws FileError; LimitError for what no reader would take */
export async function writeText(directory: JobDirectory, name: TextFile, text: string): Promise<void> {
  await writeFileAtomic(jobFile(directory, name), textBytes(name, text), { follow: false });
}

/** What is written of a text. @throws LimitError for what no reader would take */
export function textBytes(name: string, text: string): Buffer {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= TEXT_BYTES) return bytes;
  throw new LimitError(`${name} would have ${bytes.length} bytes; ${TEXT_BYTES} is the most`);
}

/** For a log: what an agent may have put in its place, a link or a fifo, is neither followed nor waited for. */
export const LOG_FLAGS =
  constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Opens a log to append to it; it is made (0600) where it is missing. @throws FileError */
export async function openLog(directory: JobDirectory, name: LogFile): Promise<FileHandle> {
  const path = jobFile(directory, name);
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, LOG_FLAGS, 0o600);
    if (!(await handle.stat()).isFile()) throw new OperationError('it is not a regular file');
    return handle;
  } catch (error) {
    await handle?.close();
    throw new FileError('open', path, error);
  }
}

/** @throws FileError */
export async function appendLog(directory: JobDirectory, name: LogFile, text: string): Promise<void> {
  const handle = await openLog(directory, name);
  try {
    await handle.appendFile(text);
  } catch (error) {
    throw new FileError('append to', jobFile(directory, name), error);
  } finally {
    await handle.close();
  }
}

/** Takes a file away; that it is not there is as good. @throws FileError */
export function clearFile(directory: JobDirectory, name: JobFile): Promise<void> {
  return remove(jobFile(directory, name));
}

/**
 * Takes away what killed writers have left half-written (J11). The job's lock must be held: nobody writes then but the
 * one who has it.
 *
 * @throws FileError
 */
export async function clearHalfWritten(directory: JobDirectory): Promise<void> {
  let names: string[];
  try {
    names = await readdir(directory);
  } catch (error) {
    throw new FileError('read directory', directory, error);
  }
  for (const name of names.filter(isAtomicTemporary)) await remove(`${directory}/${name}`);
}

async function remove(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw new FileError('remove', path, error);
  }
}
