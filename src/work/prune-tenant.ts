/** One tenant's part of a prune: what ended processes left, then age and count, then sizes (W7). */
import { type DirectoryHandle, openChildDirectory } from '../lib/directory-handle.ts';
import { PiSandboxError } from '../lib/errors.ts';
import { countsAsUsed, type Decision, overSize, pastAgeOrCount } from './decide.ts';
import { seeToLeftovers } from './leftovers.ts';
import { stampLastUse } from './manifest.ts';
import { measureFairly, measureRun, type TreeSize, UNSEEN } from './measure.ts';
import { addProblem } from './problems.ts';
import type { Pruning } from './pruning.ts';
import { removeRuns, type Victim } from './remove-runs.ts';
import { type FoundRun, type Survey, surveyTenant, type TenantName } from './survey.ts';
import type { WorkRetention } from './types.ts';

/** A listing that was cut is begun again when something of it went, this often. */
const MOST_ROUNDS = 10;
/** A run in use is said to be so no more often than that. */
const STAMP_AFTER_MS = 60 * 60_000;

/** A run that stays, and that nobody uses. */
export interface Kept {
  readonly name: TenantName;
  readonly run: FoundRun;
  /** As it counts. */
  readonly lastUse: number;
  readonly bytes: number;
}

/**
 * Prunes one tenant.
 *
 * @returns what stays of it, without what is in use
 * @throws FileError when it cannot be listed, or nothing can be logged
 */
export async function pruneOneTenant(
  pruning: Pruning,
  tenant: DirectoryHandle,
  name: TenantName,
  retention: WorkRetention,
): Promise<Kept[]> {
  for (let round = 1; ; round++) {
    const survey = await surveyed(pruning, tenant, name, retention);
    await seeToLeftovers(pruning, tenant, name, survey);
    sayInUse(pruning, tenant, survey.runs);
    const { kept, went } = await applyRetention(pruning, tenant, name, survey, retention);
    // A dry run would only see the same again.
    if (survey.cut && went > 0 && round < MOST_ROUNDS && pruning.own) continue;
    conclude(pruning, survey, kept, went);
    return kept;
  }
}

async function surveyed(
  { turn }: Pruning,
  tenant: DirectoryHandle,
  name: TenantName,
  retention: WorkRetention,
): Promise<Survey> {
  const walk = surveyTenant(tenant, name, retention);
  let step = walk.next();
  for (; !step.done; step = walk.next()) if (turn.due()) await turn.give();
  return step.value;
}

/** So that a run that was held for long, and whose holder then crashes, is as old as the last look at it. */
function sayInUse({ own, now }: Pruning, tenant: DirectoryHandle, runs: readonly FoundRun[]): void {
  if (own === undefined) return;
  for (const { runId, holders, lastUse } of runs) {
    // Not for what only counts as held: it would never grow old.
    if (holders.length === 0 || now.getTime() - lastUse < STAMP_AFTER_MS) continue;
    try {
      const run = openChildDirectory(tenant, runId);
      try {
        stampLastUse(run, now);
      } finally {
        run.close();
      }
    } catch (error) {
      // It only seems older than it is.
      if (!(error instanceof PiSandboxError)) throw error;
    }
  }
}

async function applyRetention(
  pruning: Pruning,
  tenant: DirectoryHandle,
  name: TenantName,
  { runs, problems }: Survey,
  retention: WorkRetention,
): Promise<{ kept: Kept[]; went: number }> {
  const now = pruning.now.getTime();
  const ages = runs.map((run) => {
    const { runId: id, active, lastUse } = run;
    return { id, active, lastUse: countsAsUsed(lastUse, retention, now), run };
  });
  const first = victimsOf(pastAgeOrCount(ages, retention, now), runs, new Map());
  const gone = await removeRuns(pruning, tenant, name, first);
  const judged = new Set<string>(first.map(({ run }) => run.runId));
  const others = ages.filter(({ active, id }) => !active && !judged.has(id));
  const sizes = await measureFairly(others, retention.maxScannedEntries, (id, maxEntries) =>
    measureRun(tenant, id, { maxEntries, maxDepth: retention.maxDepth }, pruning.turn),
  );
  const facts = others.map((run) => ({ ...run, size: sizes.get(run.id) ?? UNSEEN }));
  for (const { id, size } of facts) {
    if (size.refused === undefined) continue;
    const path = `${name.category}/${name.tenant}/${id}`;
    addProblem(problems, { path, kind: 'failed', reason: `it cannot be measured: ${size.refused}` });
  }
  // A disk that fails or a process without descriptors is no reason to remove what is fresh.
  const measured = facts.filter(({ size }) => size.refused === undefined);
  const second = victimsOf(overSize(measured, retention.maxBytes), runs, sizes);
  for (const id of await removeRuns(pruning, tenant, name, second)) gone.add(id);
  const kept = facts
    .filter(({ id }) => !gone.has(id))
    .map(({ run, lastUse, size }) => ({ name, run, lastUse, bytes: size.bytes }));
  return { kept, went: gone.size };
}

function victimsOf(
  decisions: readonly Decision[],
  runs: readonly FoundRun[],
  sizes: ReadonlyMap<string, TreeSize>,
): Victim[] {
  const byId = new Map<string, FoundRun>(runs.map((run) => [run.runId, run]));
  return decisions.flatMap(({ id, why }) => {
    const run = byId.get(id);
    const size = sizes.get(id);
    return run ? [{ run, why, bytes: size?.complete ? size.bytes : undefined }] : [];
  });
}

function conclude(
  { report }: Pruning,
  { runs, problems, cut }: Survey,
  kept: readonly Kept[],
  went: number,
): void {
  report.active += runs.filter(({ active }) => active).length;
  report.kept += runs.length - went;
  report.keptBytes += kept.reduce((bytes, run) => bytes + run.bytes, 0);
  for (const problem of problems.items) addProblem(report.problems, problem);
  report.problems.omitted += problems.omitted;
  report.cut ||= cut;
}
