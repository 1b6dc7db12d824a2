/** The changing half of a prune: runs are moved away, logged and deleted, a batch at a time (W6). */
import { join } from 'node:path';
import { addTo } from '../lib/bounded-list.ts';
import { syncDirectory } from '../lib/directory-entries.ts';
import type { DirectoryHandle } from '../lib/directory-handle.ts';
import { hasCode, messageOf, PiSandboxError } from '../lib/errors.ts';
import type { Decision } from './decide.ts';
import { announce, appendLog, type LogLine } from './deletion-log.ts';
import { measureRun } from './measure.ts';
import { runPath, type WorkRunName } from './names.ts';
import { addProblem } from './problems.ts';
import type { Pruning } from './pruning.ts';
import { deleteInTurns, entomb, leaveTombstone, type Tombstone } from './remove.ts';
import { DEFAULT_RETENTION } from './retention.ts';
import type { FoundRun, TenantName } from './survey.ts';

/** So many are moved away before the first is deleted: one line in the log and one wait for the disk serve them all. */
const BATCH = 64;

/** A run that is to go. `bytes` is undefined where it was not measured. */
export interface Victim {
  readonly run: FoundRun;
  readonly why: Decision['why'];
  readonly bytes: number | undefined;
}

interface Named extends Victim {
  readonly name: WorkRunName;
}

interface Entombed extends Named {
  readonly tombstone: Tombstone;
}

/** Removes runs; those that are in use by now, or were used, stay. Gives the ids of what went. */
export async function removeRuns(
  pruning: Pruning,
  tenant: DirectoryHandle,
  name: TenantName,
  victims: readonly Victim[],
): Promise<Set<string>> {
  const gone = new Set<string>();
  for (let at = 0; at < victims.length; at += BATCH) {
    await removeBatch(pruning, tenant, name, victims.slice(at, at + BATCH), gone);
  }
  return gone;
}

async function removeBatch(
  pruning: Pruning,
  tenant: DirectoryHandle,
  name: TenantName,
  victims: readonly Victim[],
  gone: Set<string>,
): Promise<void> {
  const { own, now } = pruning;
  if (own === undefined) {
    await reportAll(pruning, tenant, name, victims, gone);
    return;
  }
  const named = victims.map((victim) => ({ ...victim, name: { ...name, runId: victim.run.runId } }));
  const waiting = await announce(own, named.map(announcement), now);
  const ends: LogLine[] = [];
  const entombed: Entombed[] = [];
  try {
    for (const victim of named) {
      const tombstone = tryEntomb(pruning, tenant, victim.name, victim.run);
      if (typeof tombstone === 'object') entombed.push({ ...victim, tombstone });
      else ends.push({ event: 'kept', run: runPath(victim.name), reason: tombstone });
    }
    if (entombed.length > 0) syncDirectory(tenant);
    for (const one of entombed) ends.push(await deleteEntombed(pruning, tenant, one, gone));
    await appendLog(own, [...waiting, ...ends], now, { sync: false });
  } finally {
    for (const { tombstone } of entombed) leaveTombstone(tombstone);
  }
}

/** A dry run: as if all of them went. */
async function reportAll(
  pruning: Pruning,
  tenant: DirectoryHandle,
  name: TenantName,
  victims: readonly Victim[],
  gone: Set<string>,
): Promise<void> {
  const { maxScannedEntries: maxEntries, maxDepth } = DEFAULT_RETENTION;
  for (const victim of victims) {
    const { runId } = victim.run;
    const measured = async () => measureRun(tenant, runId, { maxEntries, maxDepth }, pruning.turn);
    const bytes = victim.bytes ?? (await measured()).bytes;
    gone.add(runId);
    reportRemoved(pruning, { ...name, runId }, victim, bytes);
  }
}

/** Why it stays, where it does. */
function tryEntomb(
  pruning: Pruning,
  tenant: DirectoryHandle,
  name: WorkRunName,
  judged: FoundRun,
): Tombstone | string {
  try {
    return entomb(tenant, name, { ...pruning.needs, judged });
  } catch (error) {
    reportFailure(pruning, runPath(name), error);
    return messageOf(error);
  }
}

function announcement({ name, why, run: { lastUse } }: Named): LogLine {
  return { event: 'removing', run: runPath(name), why, lastUse: new Date(lastUse).toISOString() };
}

async function deleteEntombed(
  pruning: Pruning,
  tenant: DirectoryHandle,
  { name, tombstone, ...victim }: Entombed,
  gone: Set<string>,
): Promise<LogLine> {
  const { turn, needs } = pruning;
  gone.add(name.runId);
  needs.between?.('announced');
  const deletion = await deleteInTurns(tenant, tombstone, { measure: victim.bytes === undefined, turn });
  leaveTombstone(tombstone);
  const bytes = victim.bytes ?? deletion.bytes;
  reportRemoved(pruning, name, victim, bytes);
  return endOf(pruning, runPath(name), join(name.category, name.tenant, tombstone.name), deletion, bytes);
}

/** What the log and the report are told in the end. */
export function endOf(
  pruning: Pruning,
  run: string,
  path: string,
  { obstacle, entries }: Awaited<ReturnType<typeof deleteInTurns>>,
  bytes: number,
): LogLine {
  if (obstacle === undefined) return { event: 'removed', run, bytes, entries };
  addProblem(pruning.report.problems, { path, kind: 'unfinished', reason: obstacle.reason });
  return { event: 'unfinished', run, reason: obstacle.reason };
}

function reportRemoved(pruning: Pruning, name: WorkRunName, { run, why }: Victim, bytes: number): void {
  const { report } = pruning;
  report.removedBytes += bytes;
  addTo(report.removed, { ...name, why, lastUse: new Date(run.lastUse), bytes });
}

/** What the system refused is reported; what is gone by now is nothing. */
export function reportFailure({ report }: Pruning, path: string, error: unknown): void {
  if (!(error instanceof PiSandboxError)) throw error;
  if (!hasCode(error, 'ENOENT'))
    addProblem(report.problems, { path, kind: 'failed', reason: messageOf(error) });
}
