/**
 * Taking a run away (W6): under its gate, with its leases looked at once more, it is renamed to a tombstone; then that
 * is deleted, the manifest last, so that whatever is left half way still says whose it is.
 */
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { entriesOf, removeEmptyChild, statChild, unlinkChild } from '../lib/directory-entries.ts';
import { type DirectoryHandle, openChildDirectory } from '../lib/directory-handle.ts';
import { hasCode, messageOf, PiSandboxError } from '../lib/errors.ts';
import { FileError } from '../lib/file-error.ts';
import type { KernelLock } from '../lib/kernel-lock.ts';
import { turns } from '../lib/turns.ts';
import { type Deletion, deleteContent } from './delete-tree.ts';
import { LEASES, MANIFEST, tombstoneName } from './layout.ts';
import { holdersOf } from './lease.ts';
import { isUnused, readManifest, tryGate, writeManifest } from './manifest.ts';
import type { WorkRunName, WorkSegment } from './names.ts';
import { ifThere, standsAt } from './places.ts';
import type { WorkNeeds } from './types.ts';

/** A run that was moved away from its name: whoever looks for it finds none. */
export interface Tombstone {
  readonly name: string;
  /** Undefined for an empty one, which nothing but its end was left of. */
  readonly run: WorkRunName | undefined;
  readonly directory: DirectoryHandle;
  /** Held while its content is deleted, so that a prune does not take it for a dead one's. Undefined where it cannot be. */
  readonly gate: KernelLock | undefined;
}

/**
 * Why a run stays. `busy`: somebody is just joining or removing it. `changed`: it was used, or replaced, since it was
 * judged, or is no run of ours.
 */
export type Stay = 'busy' | 'in use' | 'changed' | 'gone';

export interface EntombOptions extends WorkNeeds {
  /** What the run was when it was judged. */
  readonly judged?: { readonly inode: number; readonly manifest: number; readonly lastUse: number };
  /** Called under the gate, before the leases are looked at. */
  readonly first?: (run: DirectoryHandle) => void;
}

/**
 * Moves a run to a tombstone, if nobody holds it.
 *
 * @throws FileError, MountPointError
 */
export function entomb(
  tenant: DirectoryHandle,
  name: WorkRunName,
  options: EntombOptions = {},
): Tombstone | Stay {
  const directory = ifThere(() => openChildDirectory(tenant, name.runId));
  if (directory === undefined) return 'gone';
  let moved: Tombstone | undefined;
  try {
    if (options.judged && directory.inode !== options.judged.inode) return 'changed';
    const result = entombOpen(tenant, name, directory, options);
    if (typeof result !== 'string') moved = result;
    return result;
  } finally {
    if (moved === undefined) directory.close();
  }
}

function entombOpen(
  tenant: DirectoryHandle,
  name: WorkRunName,
  directory: DirectoryHandle,
  { judged, first, random, between }: EntombOptions,
): Tombstone | Stay {
  // Before anything is done to it: at the name of a run may stand what is nobody's (W4).
  if (!judged && readManifest(directory, name).kind !== 'ours') return 'changed';
  const gate = ifThere(() => tryGate(directory) ?? 'busy');
  if (gate === undefined) return 'changed';
  if (gate === 'busy') return 'busy';
  let moved = false;
  try {
    first?.(directory);
    const isSame = judged ? isUnused(directory, judged) : readManifest(directory, name).kind === 'ours';
    if (!isSame) return 'changed';
    between?.('took the gate');
    if (holdersOf(directory).active) return 'in use';
    if (!standsAt(tenant, name.runId, directory)) return 'gone';
    const tombstone = tombstoneName(random);
    rename(tenant, name.runId, tombstone);
    moved = true;
    between?.('entombed');
    return { name: tombstone, run: name, directory, gate };
  } finally {
    if (!moved) gate.release();
  }
}

function rename(tenant: DirectoryHandle, from: string, to: string): void {
  try {
    renameSync(tenant.at(from), tenant.at(to));
  } catch (error) {
    throw new FileError('move', join(tenant.path, from), error);
  }
}

/**
 * Opens a tombstone that some process left: one that it was ended over, or is still at (`busy`). What is in it must say
 * that it was a run of this tenant, or be nothing.
 *
 * @throws FileError, MountPointError
 */
export function openTombstone(
  tenant: DirectoryHandle,
  place: { category: WorkSegment; tenant: WorkSegment },
  name: string,
): Tombstone | 'gone' | 'busy' | { unowned: string } {
  const directory = ifThere(() => openChildDirectory(tenant, name));
  if (directory === undefined) return 'gone';
  let opened = false;
  try {
    const manifest = readManifest(directory, place);
    if (manifest.kind === 'unowned') {
      const [some] = entriesOf(directory);
      if (some !== undefined) return { unowned: manifest.reason };
      opened = true;
      return { name, run: undefined, directory, gate: undefined };
    }
    const gate = tryGate(directory);
    if (gate === undefined) return 'busy';
    opened = true;
    return { name, run: { ...place, runId: manifest.runId }, directory, gate };
  } finally {
    if (!opened) directory.close();
  }
}

/** Lets go of a tombstone; what is left of it is the next prune's. */
export function leaveTombstone({ gate, directory }: Tombstone): void {
  gate?.release();
  directory.close();
}

/**
 * Deletes a tombstone, giving way to others. What cannot be deleted stays in it, with the manifest, for the next prune.
 *
 * @param measure count bytes too
 */
export async function deleteInTurns(
  tenant: DirectoryHandle,
  { name, run, directory, gate }: Tombstone,
  { measure, turn = turns() }: { measure: boolean; turn?: ReturnType<typeof turns> },
): Promise<Deletion> {
  const deleting = deleteContent(directory, { keep: MANIFEST, empty: LEASES, measure });
  let step = deleting.next();
  for (; !step.done; step = deleting.next()) if (turn.due()) await turn.give();
  const deletion = step.value;
  if (deletion.obstacle !== undefined) return deletion;
  const obstacle = (reason: string): Deletion => ({
    ...deletion,
    obstacle: { path: join(tenant.path, name), reason },
  });
  try {
    // On network file systems a file that is open keeps a name in its directory, which then never becomes empty.
    gate?.release();
    removeManifest(directory);
    if (removeEmptyChild(tenant, name) || statChild(tenant, name) === undefined) return deletion;
    // Written into at that very moment: the next prune must still know whose it is.
    if (run) writeManifest(directory, run, new Date(0));
    return obstacle('something was written into it');
  } catch (error) {
    if (error instanceof PiSandboxError) return obstacle(messageOf(error));
    throw error;
  }
}

function removeManifest(directory: DirectoryHandle): void {
  try {
    unlinkChild(directory, MANIFEST);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}
