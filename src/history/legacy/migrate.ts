/** Takes the Sessions from before domains had their own over into their domains (S12). */
import { systemClock } from '../../lib/clock.ts';
import { type DirectoryHandle, openDirectory } from '../../lib/directory-handle.ts';
import { messageOf, PiSandboxError } from '../../lib/errors.ts';
import { FileError } from '../../lib/file-error.ts';
import { tableFingerprint } from '../../wire/index.ts';
import type { Destination, Owner } from '../transfer/destination.ts';
import { isFull, NoSpaceError } from './batch.ts';
import { lockStore } from './lock.ts';
import { readMarker, settledBy, writeMarker } from './marker.ts';
import { Migration } from './migration.ts';
import type { MigrationOptions } from './options.ts';
import { emptyReport, leftIn, type MigrationReport, type MigrationStop, note } from './report.ts';
import { openDestination } from './stage.ts';
import { LEGACY_SEAL, type LegacyStore, openStore } from './store.ts';

/** One migration may take minutes; more than this no start waits for another's. */
const WAIT_MS = 5 * 60_000;

/**
 * Moves what belongs to the given domains out of the shared volume, once for each domain and table. Also puts the old
 * history out of every sandbox's reach, whether or not anything is moved. To be run by a process that owns everything,
 * for the shared volume and the domains' are written by sandboxes meanwhile.
 *
 * @returns what was done. Whatever kept it from its end is in `stopped`: nothing is lost then, and the next call goes on
 * @throws FileError only when the old history could not be put out of reach
 */
export async function migrateLegacy(options: MigrationOptions): Promise<MigrationReport> {
  const { sharedRoot, seal = LEGACY_SEAL } = options;
  const report = emptyReport();
  const { directory: store, problem } = openSealed(sharedRoot, seal);
  if (problem !== undefined) note(report.problems, { file: '', reason: problem });
  try {
    if (unsettled(options).length > 0) await (store ? underLock(store, options, report) : giveUp(options));
  } catch (error) {
    report.stopped = stopOf(error, options.signal);
  } finally {
    store?.close();
  }
  return report;
}

function openSealed(sharedRoot: string, seal: Owner): LegacyStore {
  try {
    return openStore(sharedRoot, seal);
  } catch (error) {
    throw error instanceof PiSandboxError ? error : new FileError('put out of reach', sharedRoot, error);
  }
}

/** There is no history that can be believed to be old: not to be looked for at every start. */
function giveUp(options: MigrationOptions): void {
  const facts = { table: tableFingerprint(options.table), left: 1, failed: 0 };
  for (const [, sessions] of unsettled(options)) {
    const destination = openDestination(sessions, options.random);
    try {
      writeMarker(destination, { ...facts, at: (options.clock ?? systemClock).now().toISOString() });
    } finally {
      destination.close();
    }
  }
}

function unsettled({ domains, table }: MigrationOptions): [domain: string, sessions: string][] {
  const fingerprint = tableFingerprint(table);
  return Object.entries(domains).filter(([, sessions]) => {
    const directory = openDirectory(sessions);
    try {
      return !settledBy(readMarker(directory), fingerprint);
    } finally {
      directory.close();
    }
  });
}

async function underLock(
  store: DirectoryHandle,
  options: MigrationOptions,
  report: MigrationReport,
): Promise<void> {
  const { seal = LEGACY_SEAL, clock = systemClock, waitMs = WAIT_MS, random, holder, signal } = options;
  const onWait = (): void => options.onProgress?.({ step: 'waiting' });
  const lock = await lockStore(store, seal, { waitMs, clock, random, holder, signal, onWait });
  if (lock === undefined) {
    const message = `another start was still sorting it after ${Math.round(waitMs / 1000)} s`;
    report.stopped = { reason: 'busy', message };
    return;
  }
  const destinations = new Map<string, Destination>();
  try {
    // The other one may have been for the same domain.
    for (const [domain, sessions] of unsettled(options)) {
      destinations.set(domain, openDestination(sessions, random));
    }
    if (destinations.size === 0) return;
    report.ran = true;
    await new Migration(store, destinations, options, report).run();
    markAll(destinations, options, report);
  } finally {
    for (const destination of destinations.values()) destination.close();
    lock.release();
  }
}

function markAll(
  destinations: ReadonlyMap<string, Destination>,
  { table, clock = systemClock }: MigrationOptions,
  { content, failed }: MigrationReport,
): void {
  const facts = {
    table: tableFingerprint(table),
    left: leftIn(content),
    failed,
    at: clock.now().toISOString(),
  };
  for (const destination of destinations.values()) writeMarker(destination, facts);
}

function stopOf(error: unknown, signal: AbortSignal | undefined): MigrationStop {
  const message = messageOf(error);
  if (error instanceof NoSpaceError || isFull(error)) return { reason: 'no-space', message };
  return { reason: signal?.aborted === true ? 'interrupted' : 'failed', message };
}
