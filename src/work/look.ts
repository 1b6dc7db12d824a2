/** What lies in a work root, for people: read only, and bounded as a prune is (W8). */
import { type Bounded, boundedList } from '../lib/bounded-list.ts';
import type { DirectoryHandle } from '../lib/directory-handle.ts';
import { messageOf, PiSandboxError } from '../lib/errors.ts';
import type { LockRecord } from '../lib/lock-record.ts';
import { turns } from '../lib/turns.ts';
import { countLeftovers } from './leftovers.ts';
import { measureFairly, measureRun } from './measure.ts';
import { openRoot, openTenant, pathOf } from './places.ts';
import { addProblem } from './problems.ts';
import { DEFAULT_RETENTION } from './retention.ts';
import { type FoundRun, surveyTenant, type TenantName } from './survey.ts';
import { tenantsOf } from './tenants.ts';
import type { WorkProblem } from './types.ts';

export interface RunView {
  readonly category: string;
  readonly tenant: string;
  readonly runId: string;
  /** Absolute. */
  readonly path: string;
  /** Somebody holds it, or that cannot be told. */
  readonly inUse: boolean;
  readonly holders: readonly LockRecord[];
  readonly createdAt: Date;
  readonly lastUse: Date;
  /** Disk that it takes, where sizes were asked for; undefined also where it has too many entries to be measured. */
  readonly bytes: number | undefined;
}

export interface RootView {
  /** By category and tenant, the last used first. */
  readonly runs: RunView[];
  readonly problems: Bounded<WorkProblem>;
  /** Directories that ended processes left half made or half deleted, and that the next prune sees to. */
  leftovers: number;
  /** A listing was cut at its limit. */
  cut: boolean;
}

export interface LookOptions {
  /** Only those of this category, or of this tenant of it. */
  readonly category?: string | undefined;
  readonly tenant?: string | undefined;
  readonly sizes?: boolean;
}

/**
 * Looks at a whole work root. One that is not there has nothing in it.
 *
 * @throws FileError
 */
export async function lookAt(rootPath: string, options: LookOptions = {}): Promise<RootView> {
  const view: RootView = { runs: [], problems: boundedList(), leftovers: 0, cut: false };
  const root = openRoot(rootPath);
  if (root === undefined) return view;
  try {
    const isWanted = ({ category, tenant }: TenantName): boolean =>
      category === (options.category ?? category) && tenant === (options.tenant ?? tenant);
    const names = tenantsOf(root, view).filter(isWanted);
    for (const name of names) await lookAtTenant(root, name, view, options.sizes === true);
    return view;
  } finally {
    root.close();
  }
}

async function lookAtTenant(
  root: DirectoryHandle,
  name: TenantName,
  view: RootView,
  sizes: boolean,
): Promise<void> {
  let tenant: DirectoryHandle | undefined;
  try {
    tenant = openTenant(root, name.category, name.tenant);
    if (tenant === undefined) return;
    const turn = turns();
    const walk = surveyTenant(tenant, name, { ...DEFAULT_RETENTION, holders: true });
    let step = walk.next();
    for (; !step.done; step = walk.next()) if (turn.due()) await turn.give();
    const { runs, problems, cut } = step.value;
    for (const problem of problems.items) addProblem(view.problems, problem);
    view.problems.omitted += problems.omitted;
    view.leftovers += countLeftovers(tenant, step.value);
    view.cut ||= cut;
    const measured = sizes ? await sizesOf(tenant, runs, turn) : new Map<string, number>();
    for (const run of runs.sort((a, b) => b.lastUse - a.lastUse))
      view.runs.push(viewOf(root, name, run, measured));
  } catch (error) {
    if (!(error instanceof PiSandboxError)) throw error;
    const path = `${name.category}/${name.tenant}`;
    addProblem(view.problems, { path, kind: 'failed', reason: messageOf(error) });
  } finally {
    tenant?.close();
  }
}

async function sizesOf(
  tenant: DirectoryHandle,
  runs: readonly FoundRun[],
  turn: ReturnType<typeof turns>,
): Promise<Map<string, number>> {
  const { maxScannedEntries, maxDepth } = DEFAULT_RETENTION;
  const sizes = await measureFairly(
    runs.map(({ runId, lastUse }) => ({ id: runId, lastUse })),
    maxScannedEntries,
    (id, maxEntries) => measureRun(tenant, id, { maxEntries, maxDepth }, turn),
  );
  return new Map([...sizes].flatMap(([id, { bytes, complete }]) => (complete ? [[id, bytes] as const] : [])));
}

function viewOf(
  root: DirectoryHandle,
  name: TenantName,
  run: FoundRun,
  sizes: ReadonlyMap<string, number>,
): RunView {
  const { runId, active, holders, createdAt, lastUse } = run;
  return {
    ...name,
    runId,
    path: pathOf(root.path, { ...name, runId }),
    inUse: active,
    holders: holders.slice(0, MOST_HOLDERS),
    createdAt: new Date(createdAt),
    lastUse: new Date(lastUse),
    bytes: sizes.get(runId),
  };
}

/** Of one run. */
const MOST_HOLDERS = 20;
