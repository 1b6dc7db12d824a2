/**
 * All runs, the newest first (R8). One after the other is read, as little of each as a row needs, and no more than are shown:
 * so a list takes the same memory however many there are.
 */
import { PiSandboxError } from '../lib/errors.ts';
import { quickRead, quickWord } from '../lib/quick-read.ts';
import { redactor } from '../lib/redact.ts';
import { turns } from '../lib/turns.ts';
import { runIds } from './find.ts';
import type { RunId } from './ids.ts';
import { LIMITS } from './limits.ts';
import { type FileFacts, MANIFEST_BYTES, MANIFEST_FILE, type Manifest, parseManifest } from './manifest.ts';
import { isOwn, type OwnerClass, ownerClassOf, ownershipFacts, type RunCaller } from './ownership.ts';
import { type RunDirectory, type RunsPlace, runDirectory } from './places.ts';
import {
  isFinalStep,
  misfitOf,
  parseStatus,
  RUN_STATUSES,
  type RunState,
  type RunStatus,
  STATUS_BYTES,
  STATUS_FILE,
} from './status-file.ts';
import { askLock, hasContent } from './view.ts';
import { parseWorktrees, WORKTREES_BYTES, WORKTREES_FILE } from './worktrees-file.ts';

/** What a row says in place of a status about what cannot be read. */
export const STRANGE_STATUSES = ['damaged', 'schema-version-too-old', 'schema-version-too-new'] as const;
export type ListedStatus = RunStatus | (typeof STRANGE_STATUSES)[number];

export interface RunRow {
  readonly runId: RunId;
  readonly ownerClass: OwnerClass;
  readonly status: ListedStatus;
  /** Without what looks like a key; cut for other Sessions. Null where it cannot be read. */
  readonly objective: string | null;
  /** ISO 8601. */
  readonly createdAt: string | null;
  readonly runDir: RunDirectory;
  readonly pendingWorktrees: number;
  readonly steps: number;
  /** That have ended. */
  readonly stepsDone: number;
  /** Real path. */
  readonly project: string | null;
  /** What is wrong with its files. */
  readonly problem: string | null;
}

export interface ListQuery {
  readonly caller: RunCaller;
  /** Real path; without it the runs of all. What cannot be read is everybody's. */
  readonly project?: string | undefined;
  readonly status?: readonly ListedStatus[] | undefined;
  /** At most {@link LIMITS.mostRows}. */
  readonly limit?: number | undefined;
  /** Only older ones than this: the `next` of the page before. */
  readonly cursor?: string | undefined;
}

export interface RunList {
  readonly runs: readonly RunRow[];
  /** The cursor of the next page; null when this was the last. */
  readonly next: RunId | null;
}

/** @throws FileError where the directory of runs itself cannot be read */
export async function listRuns(
  place: RunsPlace,
  { limit = LIMITS.rows, cursor, status, ...query }: ListQuery,
): Promise<RunList> {
  const most = Math.min(limit, LIMITS.mostRows);
  const runs: RunRow[] = [];
  const hide = redactor([]);
  const turn = turns();
  for (const id of runIds(place)) {
    if (cursor !== undefined && id >= cursor) continue;
    const row = rowOf(place, id, { ...query, status }, hide);
    if (turn.due()) await turn.give();
    if (row === undefined || (status !== undefined && !status.includes(row.status))) continue;
    if (runs.length === most) return { runs, next: runs.at(-1)?.runId ?? null };
    runs.push(row);
  }
  return { runs, next: null };
}

/** Undefined for what is no run, another project's, or surely of another status. */
function rowOf(
  place: RunsPlace,
  id: RunId,
  { caller, project, status }: Pick<ListQuery, 'caller' | 'project' | 'status'>,
  hide: (text: string) => string,
): RunRow | undefined {
  const runDir = runDirectory(place, id);
  if (status !== undefined && isSurelyOther(runDir, status)) return undefined;
  const manifest = quickFile(runDir, MANIFEST_FILE, MANIFEST_BYTES, (text) => parseManifest(text, id));
  if (manifest.kind === 'none') {
    const problem = { kind: 'damaged', reason: `there is no ${MANIFEST_FILE}` } as const;
    return hasContent(runDir) ? strangeRow(id, runDir, problem) : undefined;
  }
  if (manifest.kind !== 'known') return strangeRow(id, runDir, manifest);
  const { value } = manifest;
  if (project !== undefined && value.realProject !== project) return undefined;
  const state = settledState(runDir, id, value);
  if (state.kind !== 'known') return { ...strangeRow(id, runDir, state), project: value.realProject };
  return knownRow(runDir, id, value, { ...state.value, caller, hide });
}

/** Most runs are told apart by one word of one file; what is strange about a file is looked for where that is asked for. */
function isSurelyOther(runDir: RunDirectory, wanted: readonly ListedStatus[]): boolean {
  if (wanted.some((one) => STRANGE_STATUSES.some((strange) => strange === one))) return false;
  try {
    const [, found] = HEAD_OF_STATUS.exec(quickWord(`${runDir}/${STATUS_FILE}`) ?? '') ?? [];
    return RUN_STATUSES.some((known) => known === found) && !wanted.some((one) => one === found);
  } catch (error) {
    if (!(error instanceof PiSandboxError)) throw error;
    return false;
  }
}

/** As it is always written; whatever else stands there is read whole. */
const HEAD_OF_STATUS = /^\{\s*"schemaVersion": 1,\s*"runId": "[^"]{1,100}",\s*"status": "([a-z]+)",/;

function knownRow(
  runDir: RunDirectory,
  runId: RunId,
  manifest: Manifest,
  { state, held, caller, hide }: Settled & { caller: RunCaller; hide: (text: string) => string },
): RunRow {
  return {
    runId,
    ownerClass: ownerClassOf(ownershipFacts(manifest, state, held), caller),
    status: state.status,
    objective: cut(hide(manifest.objective), isOwn(manifest.ownerSessionId, caller)),
    createdAt: manifest.createdAt,
    runDir,
    ...worktreesIn(runDir, manifest),
    steps: manifest.graph.steps.length,
    stepsDone: Object.values(state.steps).filter((step) => isFinalStep(step.status)).length,
    project: manifest.realProject,
  };
}

interface Settled {
  readonly state: RunState;
  readonly held: boolean | undefined;
}

/** The lock is asked of what has not ended only; what has ended meanwhile is read again, as in {@link readRun}. */
function settledState(
  runDir: RunDirectory,
  id: RunId,
  { graph }: Pick<Manifest, 'graph'>,
): FileFacts<Settled> {
  const read = () => quickFile(runDir, STATUS_FILE, STATUS_BYTES, (text) => parseStatus(text, id));
  const first = read();
  if (first.kind !== 'known') return first;
  const misfit = misfitOf(first.value, graph);
  if (misfit !== undefined) return { kind: 'damaged', reason: misfit };
  if (first.value.terminal) return { kind: 'known', value: { state: first.value, held: false } };
  const held = askLock(runDir);
  const last = held === false ? read() : first;
  return { kind: 'known', value: { state: last.kind === 'known' ? last.value : first.value, held } };
}

function cut(objective: string, own: boolean): string {
  const most = LIMITS.foreignObjectiveCharacters;
  return own || objective.length <= most ? objective : `${objective.slice(0, most - 1)}…`;
}

/** Only a step that asks for one has a worktree; where the list of them cannot be read, each may still have its own. */
function worktreesIn(
  runDir: RunDirectory,
  { graph }: Manifest,
): Pick<RunRow, 'pendingWorktrees' | 'problem'> {
  const most = graph.steps.filter(({ worktree }) => worktree).length;
  if (most === 0) return { pendingWorktrees: 0, problem: null };
  const facts = quickFile(runDir, WORKTREES_FILE, WORKTREES_BYTES, parseWorktrees);
  if (facts.kind === 'known') {
    const pending = facts.value.worktrees.filter(({ cleanedUp }) => !cleanedUp).length;
    return { pendingWorktrees: pending, problem: null };
  }
  const problem = facts.kind === 'none' ? `there is no ${WORKTREES_FILE}` : strangeStatus(facts).problem;
  return { pendingWorktrees: most, problem };
}

function strangeRow(runId: RunId, runDir: RunDirectory, facts: FileFacts<unknown>): RunRow {
  return {
    runId,
    ownerClass: 'unknown',
    ...strangeStatus(facts),
    objective: null,
    createdAt: null,
    runDir,
    pendingWorktrees: 0,
    steps: 0,
    stepsDone: 0,
    project: null,
  };
}

function strangeStatus(facts: FileFacts<unknown>): { status: ListedStatus; problem: string } {
  switch (facts.kind) {
    case 'too-old':
    case 'too-new':
      return {
        status: `schema-version-${facts.kind}`,
        problem: `its files have schema ${facts.schemaVersion}`,
      };
    case 'damaged':
      return { status: 'damaged', problem: facts.reason };
    case 'none':
    case 'known':
      return { status: 'damaged', problem: `there is no ${STATUS_FILE}` };
  }
}

function quickFile<T>(
  runDir: RunDirectory,
  name: string,
  maxBytes: number,
  parse: (text: string) => FileFacts<T>,
): FileFacts<T> {
  try {
    const text = quickRead(`${runDir}/${name}`, maxBytes);
    return text === undefined ? { kind: 'none' } : parse(text);
  } catch (error) {
    if (!(error instanceof PiSandboxError)) throw error;
    return { kind: 'damaged', reason: error.message };
  }
}
