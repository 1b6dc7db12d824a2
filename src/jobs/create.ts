/**
 * Making a job (J1, J2): its directory is built under a temporary name with all files and its lock held, then renamed to
 * its name. So nobody ever sees a half-made job, nor one that nobody runs.
 */
import type { FileHandle } from 'node:fs/promises';
import { chmod, lstat, mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { makeStateDirectory } from '../lib/atomic-file.ts';
import type { Clock } from '../lib/clock.ts';
import { syncDirectory } from '../lib/directory-entries.ts';
import { openDirectory } from '../lib/directory-handle.ts';
import { hasCode, LimitError } from '../lib/errors.ts';
import { FileError } from '../lib/file-error.ts';
import { type RandomSource, randomId } from '../lib/ids.ts';
import { type FileLock, tryLock } from '../lib/kernel-lock.ts';
import type { LockRecord } from '../lib/lock-record.ts';
import { BrokenJobError, JobNameTakenError } from './errors.ts';
import { LOCK_FILE, type TextFile, textBytes } from './files.ts';
import type { HeldJob } from './held-job.ts';
import { type JobName, numbered } from './names.ts';
import {
  conversationDirectory,
  type JobDirectory,
  type JobsPlace,
  jobDirectory,
  jobsDirectory,
} from './places.ts';
import type { JobProject } from './project.ts';
import { type JobRecord, RECORD_FILE, recordText } from './record.ts';

/** Directories that are being made; what a killed starter left of one is `prune`'s. */
export const BUILDING_PREFIX = '.new-';
/** So many jobs of one proposed name are tried past before a start gives up (rule 7). */
const MOST_NUMBERS = 10_000;

export interface JobDeps {
  readonly clock: Clock;
  readonly random?: RandomSource;
  /** Written beside the lock for people to read. */
  readonly identity: Pick<LockRecord, 'pid' | 'host'>;
}

/** Of `job.json`, what a start decides. */
export type JobSettings = Omit<
  JobRecord,
  'version' | 'name' | 'project' | 'realProject' | 'notifiedAt' | 'createdAt' | 'session'
>;

export interface JobSpec {
  readonly project: JobProject;
  /** `asked`: exactly this one; else with a number behind it where it is taken. */
  readonly name: JobName;
  readonly asked: boolean;
  readonly prompt: string;
  /** Instead of pi's own system prompt. */
  readonly systemPrompt: string | undefined;
  /** The addition to pi's system prompt, which tells the agent its name. */
  readonly appendPrompt: (name: JobName) => string;
  readonly settings: JobSettings;
  /** Where the conversation is written, absolute; without it where those of the project are. */
  readonly sessionDirectory: string | undefined;
}

/**
 * Makes a job whose first run begins; the caller runs it, or hands it to a runner.
 *
 * @throws JobNameTakenError, LimitError (a prompt that no reader would take), FileError; nothing of it is left then
 */
export async function createJob(place: JobsPlace, spec: JobSpec, deps: JobDeps): Promise<HeldJob> {
  const directory = jobsDirectory(place, spec.project.folder);
  await makeStateDirectory(directory);
  const building = join(directory, `${BUILDING_PREFIX}${randomId(16, deps.random)}`);
  let lock: FileLock | undefined;
  try {
    await makeBuilding(building);
    lock = takeNew(building, spec.name, deps);
    const { record, path } = await finish(place, spec, building, deps);
    const held = lock;
    lock = undefined;
    return {
      place,
      directory: path,
      record,
      // The file moved with its directory; the lock is on the file.
      lock: { ...held, path: join(path, LOCK_FILE) },
    };
  } catch (error) {
    lock?.release();
    await rm(building, { recursive: true, force: true }).catch(() => undefined);
    throw error;
  }
}

async function makeBuilding(path: string): Promise<void> {
  try {
    await mkdir(path, 0o700);
    await chmod(path, 0o700);
  } catch (error) {
    throw new FileError('make directory', path, error);
  }
}

/** Nobody else knows the directory, so the first attempt gets it. */
function takeNew(building: JobDirectory, name: JobName, { clock, identity }: JobDeps): FileLock {
  const path = join(building, LOCK_FILE);
  const record = { ...identity, startedAt: clock.now().toISOString(), what: `job ${name}` };
  const lock = tryLock(path, { record });
  if (lock !== undefined) return lock;
  throw new BrokenJobError(name, `${path} was locked while it was made`);
}

/** Writes all files and gives the directory its name; the next number when that is taken. */
async function finish(
  place: JobsPlace,
  spec: JobSpec,
  building: string,
  deps: JobDeps,
): Promise<{ record: JobRecord; path: JobDirectory }> {
  const { project, prompt, systemPrompt, appendPrompt } = spec;
  const createdAt = deps.clock.now().toISOString();
  const session = await conversationFile(place, spec, createdAt, deps.random);
  const write = (files: Record<string, string>) => writeFiles(building, files);
  await write({
    ...texts({
      'prompt.txt': prompt,
      ...(systemPrompt === undefined ? {} : { 'system-prompt.md': systemPrompt }),
    }),
    status: 'starting\n',
    runs: '1\n',
    started_at: `${createdAt}\n`,
  });
  for (let count = 1; count <= MOST_NUMBERS; count++) {
    const name = count === 1 ? spec.name : numbered(spec.name, count);
    const path = jobDirectory(place, project.folder, name);
    const record: JobRecord = {
      version: 1,
      name,
      project: project.directory,
      realProject: project.real,
      ...spec.settings,
      notifiedAt: null,
      createdAt,
      session,
    };
    if (!(await isThere(path))) {
      await write({
        [RECORD_FILE]: recordText(record),
        ...texts({ 'append-prompt.md': appendPrompt(name) }),
      });
      if (await renamedTo(building, path)) return { record, path };
    }
    if (spec.asked) throw new JobNameTakenError(name);
  }
  throw new LimitError(`"${spec.name}" and its next ${MOST_NUMBERS} names are taken`);
}

/** A new file for each job, so that a job of an old name never goes on with an old conversation. */
async function conversationFile(
  place: JobsPlace,
  { project, sessionDirectory }: JobSpec,
  createdAt: string,
  random: RandomSource | undefined,
): Promise<string> {
  const directory = sessionDirectory ?? conversationDirectory(place, project.folder);
  await makeStateDirectory(directory);
  return join(directory, `${createdAt.replace(/[:.]/g, '-')}_${randomId(8, random)}.jsonl`);
}

function texts(files: Partial<Record<TextFile, string>>): Record<string, string> {
  for (const [name, text] of Object.entries(files)) textBytes(name, text);
  return files;
}

/** Nobody reads them before the directory has its name, so they need to be on the disk by then and no earlier. */
async function writeFiles(building: string, files: Record<string, string>): Promise<void> {
  await Promise.all(
    Object.entries(files).map(async ([name, text]) => {
      const path = join(building, name);
      let handle: FileHandle | undefined;
      try {
        handle = await open(path, 'w', 0o600);
        await handle.chmod(0o600);
        await handle.writeFile(text);
        await handle.sync();
      } catch (error) {
        throw new FileError('write', path, error);
      } finally {
        await handle?.close();
      }
    }),
  );
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw new FileError('look at', path, error);
  }
}

/** False when something stands there: another start was faster. */
async function renamedTo(building: string, path: JobDirectory): Promise<boolean> {
  sync(building);
  try {
    await rename(building, path);
  } catch (error) {
    if (hasCode(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR')) return false;
    throw new FileError(`make job ${basename(path)} of`, building, error);
  }
  sync(dirname(path));
  return true;
}

function sync(path: string): void {
  const directory = openDirectory(path);
  try {
    syncDirectory(directory);
  } finally {
    directory.close();
  }
}
