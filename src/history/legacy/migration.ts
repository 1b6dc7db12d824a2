/** The walk of a migration, each Session to its domain's batch. */
import { closeSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { entriesOf } from '../../lib/directory-entries.ts';
import { type DirectoryHandle, openChildDirectory } from '../../lib/directory-handle.ts';
import { OperationError } from '../../lib/errors.ts';
import type { Destination } from '../transfer/destination.ts';
import { addToBatch, type Batch, commitBatch, newBatch, type Outcome } from './batch.ts';
import { isOwn, SESSION_END } from './names.ts';
import type { MigrationOptions } from './options.ts';
import { addTo, countIn, type MigrationReport, note } from './report.ts';
import { LEGACY_SEAL } from './store.ts';
import { type FoundFile, walkStore } from './walk.ts';

/**
 * So much is copied before it is made durable. Two batches are in work at a time, each with two open files for a Session
 * and two for a folder: all of it fits into the 1,024 that some engines grant.
 */
const BATCH = { files: 160, folders: 48, bytes: 48 * 1024 * 1024 };
/** pi's longest Sessions are some 50 MB; what is larger was made to fill a disk. */
const MAX_BYTES = 1024 * 1024 * 1024;
/** Files between two turns of the event loop. */
const TURN = 8;

/** One walk, with a batch that is being copied and one that is being finished. */
export class Migration implements Outcome {
  private readonly store: DirectoryHandle;
  private readonly destinations: ReadonlyMap<string, Destination>;
  private readonly options: MigrationOptions;
  private readonly report: MigrationReport;
  private readonly batches = new Map<string, Batch>();
  private finishing: Promise<void> = Promise.resolve();
  private files = 0;
  private total = 0;

  constructor(
    store: DirectoryHandle,
    destinations: ReadonlyMap<string, Destination>,
    options: MigrationOptions,
    report: MigrationReport,
  ) {
    this.store = store;
    this.destinations = destinations;
    this.options = options;
    this.report = report;
  }

  async run(): Promise<void> {
    const { table, seal = LEGACY_SEAL, signal } = this.options;
    this.total = countSessions(this.store);
    let stop: unknown;
    try {
      for (const file of walkStore(this.store, { table, seal })) {
        await this.take(file);
        if (file.kind !== 'foreign') this.files += 1;
        if (this.files % TURN === 0) await nextTurn();
        signal?.throwIfAborted();
      }
    } catch (error) {
      stop = error;
    }
    // What was copied is brought to its end, whatever the reason to stop.
    for (const batch of this.batches.values())
      await this.finish(batch).catch((error: unknown) => (stop ??= error));
    await this.finishing.catch((error: unknown) => (stop ??= error));
    if (stop !== undefined) throw stop;
  }

  private async take(file: FoundFile): Promise<void> {
    const { report } = this;
    if (file.problem !== undefined) note(report.problems, { file: file.path, reason: file.problem });
    // Whose it is will be asked again.
    if (file.refused === true) report.failed += 1;
    if (file.kind !== 'session' || file.fd === undefined) {
      return addTo(file.kind === 'foreign' ? report.content.foreign : report.content.damaged, file.stats);
    }
    const { fd, domain } = file;
    const destination = domain === undefined ? undefined : this.destinations.get(domain);
    if (domain === undefined || destination === undefined) {
      closeSync(fd);
      return this.stays(file);
    }
    const { maxBytes = MAX_BYTES } = this.options;
    if (file.stats.size > maxBytes) {
      closeSync(fd);
      note(report.problems, {
        file: file.path,
        reason: `it is larger than the ${maxBytes} bytes that are moved`,
      });
      return this.stays(file);
    }
    const batch = this.batches.get(domain) ?? newBatch(destination);
    this.batches.set(domain, batch);
    addToBatch(batch, { ...file, fd }, this);
    if (isRoomIn(batch)) return;
    this.batches.delete(domain);
    await this.finish(batch);
  }

  /** Waits for the one before and lets this one go on beside the next one's copying. */
  private async finish(batch: Batch): Promise<void> {
    const { between = () => undefined } = this.options;
    const before = this.finishing;
    const commit = (): Promise<void> => commitBatch(batch, this, between);
    this.finishing = before.then(commit, commit);
    this.finishing.catch(() => undefined);
    await before;
  }

  private stays(file: FoundFile): void {
    countIn(this.report.content, file);
  }

  moved(file: FoundFile, { there, name }: { there: boolean; name: string }): void {
    const { report } = this;
    addTo(report.moved, file.stats);
    if (there) report.alreadyThere += 1;
    if (name !== file.name) note(report.renamed, { file: file.path, name });
    const { files, total } = this;
    this.options.onProgress?.({
      step: 'moving',
      files,
      total,
      moved: report.moved.count,
      bytes: report.moved.bytes,
    });
  }

  failed(file: FoundFile, reason: string): void {
    this.report.failed += 1;
    note(this.report.problems, { file: file.path, reason });
    this.stays(file);
  }
}

function isRoomIn({ items, folders, bytes }: Batch): boolean {
  return items.length < BATCH.files && folders.size < BATCH.folders && bytes < BATCH.bytes;
}

/** How much there is to look at, by the names alone. */
function countSessions(store: DirectoryHandle): number {
  let count = 0;
  for (const entry of entriesOf(store)) {
    if (entry.isFile() && entry.name.endsWith(SESSION_END) && !isOwn(entry.name)) count += 1;
    if (!entry.isDirectory()) continue;
    try {
      const folder = openChildDirectory(store, entry.name);
      try {
        for (const { name } of entriesOf(folder)) if (name.endsWith(SESSION_END)) count += 1;
      } finally {
        folder.close();
      }
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
    }
  }
  return count;
}
