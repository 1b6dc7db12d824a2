/** Gives Sessions that have come whole their names: made durable first, compared with what is there, never over it. */
import { closeSync, fsync } from 'node:fs';
import { promisify } from 'node:util';
import { syncDirectory, unlinkChild } from '../../lib/directory-entries.ts';
import type { DirectoryHandle } from '../../lib/directory-handle.ts';
import { hasCode, messageOf, OperationError } from '../../lib/errors.ts';
import { type Place, placePath, relativePath } from '../layout.ts';
import { type Destination, folderIn, place as giveName, placingFor } from './destination.ts';
import { type ArrivalReport, name as note } from './report.ts';

const flush = promisify(fsync);

/** A whole copy in the stage, open. */
export interface Staged {
  readonly fd: number;
  /** In the stage. */
  readonly name: string;
  readonly place: Place;
  readonly size: number;
}

interface CommitOptions {
  readonly word: string;
  readonly between?: (step: string) => void;
}

/**
 * Brings a batch to its end and closes its files. Never throws for a single Session, but for a disk that is full.
 *
 * @throws the system's error
 */
export async function commitArrivals(
  destination: Destination,
  batch: readonly Staged[],
  report: ArrivalReport,
  { word, between = () => undefined }: CommitOptions,
): Promise<void> {
  const folders = new Map<string, DirectoryHandle>();
  try {
    between('staged');
    await Promise.all(batch.map(({ fd }) => flush(fd)));
    between('durable');
    for (const staged of batch) {
      try {
        settle(staged, folderOf(destination, folders, staged.place.folder), destination, report, word);
        between('named');
      } catch (error) {
        if (!(error instanceof OperationError) || hasCode(error, 'ENOSPC', 'EDQUOT')) throw error;
        note(report.failed, { file: placePath(staged.place), reason: messageOf(error) });
      }
    }
    for (const directory of [destination.directory, ...folders.values()]) syncDirectory(directory);
  } finally {
    for (const { fd } of batch) closeSync(fd);
    for (const folder of folders.values()) folder.close();
  }
}

function folderOf(
  destination: Destination,
  folders: Map<string, DirectoryHandle>,
  name: string | undefined,
): DirectoryHandle {
  if (name === undefined) return destination.directory;
  const folder = folders.get(name) ?? folderIn(destination, name);
  folders.set(name, folder);
  return folder;
}

/** Another one that brings the same Session at the same moment is found at the next look. */
function settle(
  { fd, name: copy, place, size }: Staged,
  folder: DirectoryHandle,
  { stage }: Destination,
  report: ArrivalReport,
  word: string,
): void {
  for (;;) {
    const { name, existing } = placingFor(folder, place.name, fd, word);
    if (existing !== undefined) {
      closeSync(existing);
      unlinkChild(stage, copy);
      report.there += 1;
      return;
    }
    try {
      giveName(stage, copy, folder, name);
    } catch (error) {
      if (hasCode(error, 'EEXIST')) continue;
      throw error;
    }
    report.added.count += 1;
    report.added.bytes += size;
    if (name !== place.name) note(report.renamed, { file: relativePath(place.folder, place.name), name });
    return;
  }
}
