/** What lies in a tenant: runs, what processes left that were ended, and what is not ours (W4, W7). */
import type { Dirent } from 'node:fs';
import { type Bounded, boundedList } from '../lib/bounded-list.ts';
import { entriesOf } from '../lib/directory-entries.ts';
import { type DirectoryHandle, openChildDirectory } from '../lib/directory-handle.ts';
import { hasCode, messageOf, PiSandboxError } from '../lib/errors.ts';
import type { LockRecord } from '../lib/lock-record.ts';
import { isBuilding, isTombstone, PRUNED_STAMP } from './layout.ts';
import { holdersOf } from './lease.ts';
import { readManifest } from './manifest.ts';
import { isWorkSegment, type WorkRunName, type WorkSegment } from './names.ts';
import { standsAt } from './places.ts';
import { addProblem } from './problems.ts';
import type { WorkProblem } from './types.ts';

/** Leftovers of so many ended processes are seen to in one go. */
const MOST_LEFTOVERS = 10_000;

export interface TenantName {
  readonly category: WorkSegment;
  readonly tenant: WorkSegment;
}

/** A run of ours. Times in milliseconds. */
export interface FoundRun {
  readonly runId: WorkSegment;
  readonly inode: number;
  /** The manifest's inode. */
  readonly manifest: number;
  readonly createdAt: number;
  readonly lastUse: number;
  readonly active: boolean;
  /** Who holds it; without `holders` in the survey's options only enough to know that somebody does. */
  readonly holders: readonly LockRecord[];
}

export interface Survey {
  readonly runs: FoundRun[];
  readonly buildings: string[];
  readonly tombstones: string[];
  readonly problems: Bounded<WorkProblem>;
  /** There was more than was looked at. */
  cut: boolean;
}

export interface SurveyOptions {
  /** Directories that are looked into. */
  readonly maxScannedRuns: number;
  /** Name every holder. */
  readonly holders?: boolean;
}

/**
 * Looks at everything in a tenant, and comes back now and then.
 *
 * @throws FileError when it cannot be listed
 */
export function* surveyTenant(
  tenant: DirectoryHandle,
  name: TenantName,
  options: SurveyOptions,
): Generator<undefined, Survey, undefined> {
  const survey: Survey = { runs: [], buildings: [], tombstones: [], problems: boundedList(), cut: false };
  let examined = 0;
  for (const entry of entriesOf(tenant)) {
    const leftovers = leftoverList(survey, entry.name);
    if (leftovers) {
      if (leftovers.length < MOST_LEFTOVERS) leftovers.push(entry.name);
      else survey.cut = true;
    } else if (entry.name === PRUNED_STAMP) {
      // Ours.
    } else if (examined === options.maxScannedRuns) {
      survey.cut = true;
      return survey;
    } else {
      examined++;
      examine(tenant, name, entry, survey, options);
      yield undefined;
    }
  }
  return survey;
}

function leftoverList(survey: Survey, entry: string): string[] | undefined {
  if (isBuilding(entry)) return survey.buildings;
  return isTombstone(entry) ? survey.tombstones : undefined;
}

function examine(
  tenant: DirectoryHandle,
  name: TenantName,
  entry: Dirent,
  survey: Survey,
  { holders: whole = false }: SurveyOptions,
): void {
  const path = `${name.category}/${name.tenant}/${entry.name}`;
  const report: Report = (kind, reason) => addProblem(survey.problems, { path, kind, reason });
  if (!entry.isDirectory()) report('foreign', 'it is no directory');
  else if (!isWorkSegment(entry.name)) report('foreign', 'no run can have that name');
  else {
    const run = lookInto(tenant, { ...name, runId: entry.name }, whole, report);
    if (run) survey.runs.push(run);
  }
}

type Report = (kind: WorkProblem['kind'], reason: string) => void;

function lookInto(
  tenant: DirectoryHandle,
  name: WorkRunName,
  whole: boolean,
  report: Report,
): FoundRun | undefined {
  let run: DirectoryHandle | undefined;
  try {
    run = openChildDirectory(tenant, name.runId);
    const manifest = readManifest(run, name);
    if (manifest.kind === 'unowned') {
      // One that was moved away to be deleted loses its manifest too.
      if (standsAt(tenant, name.runId, run)) report('unowned', manifest.reason);
      return undefined;
    }
    const { active, held, foreign } = holdersOf(run, { whole });
    // Moved away meanwhile, to be deleted: its leases went first.
    if (foreign.length > 0 && !standsAt(tenant, name.runId, run)) return undefined;
    for (const { name: marker, reason } of foreign) report('lease', `${marker}: ${reason}`);
    return {
      runId: name.runId,
      inode: run.inode,
      manifest: manifest.inode,
      createdAt: manifest.createdAt.getTime(),
      lastUse: manifest.lastUse,
      active,
      holders: held,
    };
  } catch (error) {
    if (!(error instanceof PiSandboxError)) throw error;
    // Removed meanwhile.
    if (!hasCode(error, 'ENOENT')) report('failed', messageOf(error));
    return undefined;
  } finally {
    run?.close();
  }
}
