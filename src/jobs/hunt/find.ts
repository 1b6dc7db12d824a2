/** Which processes are a job's: by what stands in their environment, and by descent (J4). */
import type { JobDirectory } from '../places.ts';
import { DETACHED_VARIABLE, JOB_VARIABLE } from './marks.ts';
import type { ProcessFacts, ProcessTable } from './process-table.ts';

/** Processes seen before: by id, when each started. */
export type Seen = ReadonlyMap<number, string>;

/** What nobody needs to look at: processes that were there before anything of the job's run was. */
export interface FindOptions {
  /** The time of a process's start, in the table's own words. */
  readonly since?: string | undefined;
}

/** What a process's environment says: ours, somebody else's, or nothing. */
type Side = 'ours' | 'others' | 'unsaid';

/**
 * The processes of a job that live now: whatever has its directory in the environment, what of `seen` still lives, and
 * what descends from either. Descent ends at another job's process, and at one that was started to go on by itself. The
 * process that asks, and those above it, are never among them.
 */
export function jobProcesses(
  table: ProcessTable,
  job: JobDirectory,
  seen: Seen,
  { since }: FindOptions = {},
): ProcessFacts[] {
  const all = table.list();
  const spared = ancestry(all, process.pid);
  const young = since === undefined ? all : all.filter((process) => !table.isOlder(process, since));
  const sides = new Map(young.map(({ pid }) => [pid, sideOf(table.environment(pid), job)]));
  const roots = young.filter(
    ({ pid, started }) =>
      sides.get(pid) === 'ours' || (seen.get(pid) === started && sides.get(pid) !== 'others'),
  );
  return withDescendants(all, roots, (pid) => spared.has(pid) || sides.get(pid) === 'others');
}

function sideOf(environment: readonly string[] | undefined, job: JobDirectory): Side {
  if (environment === undefined) return 'unsaid';
  // The kernel's bytes were read one to a character.
  const ours = Buffer.from(`${JOB_VARIABLE}=${job}`).toString('latin1');
  if (environment.includes(ours)) return 'ours';
  const marks = [`${JOB_VARIABLE}=`, `${DETACHED_VARIABLE}=`];
  return environment.some((variable) => marks.some((mark) => variable.startsWith(mark)))
    ? 'others'
    : 'unsaid';
}

function withDescendants(
  all: readonly ProcessFacts[],
  roots: readonly ProcessFacts[],
  isBarrier: (pid: number) => boolean,
): ProcessFacts[] {
  const children = Map.groupBy(all, ({ parent }) => parent);
  const found = new Map<number, ProcessFacts>();
  // Parents come before their children: so they hear of a signal first.
  const line = [...roots];
  for (const next of line) {
    if (found.has(next.pid) || isBarrier(next.pid)) continue;
    found.set(next.pid, next);
    line.push(...(children.get(next.pid) ?? []));
  }
  return [...found.values()];
}

/** A process, those above it, and the first one of all. */
function ancestry(all: readonly ProcessFacts[], pid: number): Set<number> {
  const parents = new Map(all.map((process) => [process.pid, process.parent]));
  const line = new Set([1]);
  for (let next: number | undefined = pid; next !== undefined && !line.has(next); next = parents.get(next)) {
    line.add(next);
  }
  return line;
}
