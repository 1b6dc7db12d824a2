/** The jobs of a project, or of all (J6): whatever lies among them, each has one true status (J11). */
import { type Dirent, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { hasCode } from '../lib/errors.ts';
import { FileError } from '../lib/file-error.ts';
import { turns } from '../lib/turns.ts';
import { BUILDING_PREFIX } from './create.ts';
import { BrokenJobError, JobNotFoundError } from './errors.ts';
import type { JobName } from './names.ts';
import { type JobDirectory, type JobsPlace, jobDirectory, jobsDirectory } from './places.ts';
import type { JobProject } from './project.ts';
import { type JobRecord, readRecord } from './record.ts';
import { type JobView, type QuickView, quickView } from './view.ts';

/** Directories that are being deleted. */
export const GONE_PREFIX = '.gone-';
/** So many entries are looked at; more are said to be there (rule 7). */
export const MOST_JOBS = 100_000;

export interface BrokenJob {
  readonly directory: JobDirectory;
  readonly reason: string;
}

export interface JobList {
  /** The last started first. */
  readonly jobs: readonly JobView[];
  /** Whose record cannot be read, so that nobody can say whose they are: never written, never removed. */
  readonly broken: readonly BrokenJob[];
  /** There is more than was looked at. */
  readonly cut: boolean;
}

/**
 * The jobs of one project, or without one of all.
 *
 * @throws FileError where the directory itself cannot be read
 */
export async function listJobs(place: JobsPlace, project: JobProject | undefined): Promise<JobList> {
  const isMine = (record: JobRecord): boolean => project === undefined || record.realProject === project.real;
  const found: QuickView[] = [];
  const turn = turns();
  let cut = false;
  for (const directory of jobDirectories(place, project)) {
    if (found.length === MOST_JOBS) {
      cut = true;
      break;
    }
    const view = quickView(directory, isMine);
    if (view.kind !== 'none') found.push(view);
    if (turn.due()) await turn.give();
  }
  return { ...sorted(found), cut };
}

function* jobDirectories(place: JobsPlace, project: JobProject | undefined): Generator<JobDirectory> {
  if (project !== undefined) {
    yield* inJobs(jobsDirectory(place, project.folder));
    return;
  }
  for (const entry of entriesOf(place.state)) {
    if (entry.isDirectory()) yield* inJobs(join(place.state, entry.name, 'jobs'));
  }
}

function* inJobs(jobs: string): Generator<JobDirectory> {
  for (const entry of entriesOf(jobs)) {
    if (entry.isDirectory() && !entry.name.startsWith('.')) yield `${jobs}/${entry.name}`;
  }
}

function entriesOf(path: string): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw new FileError('read directory', path, error);
  }
}

function sorted(views: readonly QuickView[]): { jobs: JobView[]; broken: BrokenJob[] } {
  const jobs: JobView[] = [];
  const broken: BrokenJob[] = [];
  for (const view of views) {
    if (view.kind === 'job') jobs.push(view);
    if (view.kind === 'broken') broken.push(view);
  }
  const begun = ({ startedAt, record }: JobView): string => startedAt ?? record.createdAt;
  jobs.sort((a, b) => compare(begun(b), begun(a)) || compare(a.record.name, b.record.name));
  return { jobs, broken };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * A job of this project by its name: one of another project that shares the folder is not there (J1).
 *
 * @throws JobNotFoundError, BrokenJobError
 */
export async function findJob(
  place: JobsPlace,
  project: JobProject,
  name: JobName,
): Promise<{ directory: JobDirectory; record: JobRecord }> {
  const directory = jobDirectory(place, project.folder, name);
  const facts = await readRecord(directory);
  if (facts.kind === 'broken') throw new BrokenJobError(name, facts.reason);
  if (facts.kind === 'none') throw new JobNotFoundError(name, project.directory);
  const { record } = facts;
  if (record.realProject === project.real) return { directory, record };
  throw new JobNotFoundError(name, project.directory, `a job of that name belongs to ${record.project}`);
}

/** The names under which half-made and half-deleted jobs lie. */
export function isLeftover(name: string): boolean {
  return name.startsWith(BUILDING_PREFIX) || name.startsWith(GONE_PREFIX);
}
