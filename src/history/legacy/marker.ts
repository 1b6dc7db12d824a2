/**
 * What a domain's sessions directory remembers of its migration (S12), `.pi-sandbox-legacy.json`: so that it happens
 * once, and again when the decisions have changed while something is still left to be sorted.
 */
import { closeSync, constants, fchownSync, fsyncSync, readSync, writeSync } from 'node:fs';
import * as z from 'zod/mini';
import { renameChild, syncDirectory } from '../../lib/directory-entries.ts';
import { type DirectoryHandle, openChildFile, openDirectory } from '../../lib/directory-handle.ts';
import type { Destination } from '../transfer/destination.ts';
import { MARKER } from './names.ts';

const VERSION = 1;
const MAX_BYTES = 4_096;
/** After so many starts what cannot be moved is let be; a changed table tries again. */
const MAX_TRIES = 3;

const Marker = z.object({
  version: z.literal(VERSION),
  /** Fingerprint of the table. */
  table: z.string(),
  /** Files named like Sessions that were still in the store, of whatever domain. */
  left: z.int(),
  /** Sessions of this domain that the system refused to move. */
  failed: z.int(),
  tries: z.int(),
  at: z.string(),
});
export type Marker = z.infer<typeof Marker>;

/** A newer version's file says at least that there is nothing to do for this one. */
const Newer = z.object({ version: z.int().check(z.minimum(VERSION + 1)) });

/**
 * True when the old history of this domain has been sorted by these decisions, or none is left to sort. One small read:
 * a sandbox asks at each cold start.
 */
export function isSettled(sessions: string, fingerprint: string): boolean {
  const directory = openDirectory(sessions);
  try {
    return settledBy(readMarker(directory), fingerprint);
  } finally {
    directory.close();
  }
}

/**
 * How many files of the old history were left, of whatever domain, when this domain's was last sorted; undefined when that
 * is not known.
 */
export function oldHistoryLeft(sessions: string): number | undefined {
  const directory = openDirectory(sessions);
  try {
    const marker = readMarker(directory);
    return marker === 'newer' ? undefined : marker?.left;
  } finally {
    directory.close();
  }
}

/** @internal */
export function settledBy(marker: Marker | 'newer' | undefined, fingerprint: string): boolean {
  if (marker === undefined) return false;
  if (marker === 'newer' || (marker.left === 0 && marker.failed === 0)) return true;
  return marker.table === fingerprint && (marker.failed === 0 || marker.tries >= MAX_TRIES);
}

/** What the domain's own sandboxes can write as well: anything unreadable counts as no marker. */
export function readMarker(directory: DirectoryHandle): Marker | 'newer' | undefined {
  let fd: number | undefined;
  try {
    ({ fd } = openChildFile(directory, MARKER));
    const buffer = Buffer.alloc(MAX_BYTES);
    const value: unknown = JSON.parse(buffer.toString('utf8', 0, readSync(fd, buffer, 0, MAX_BYTES, 0)));
    if (Newer.safeParse(value).success) return 'newer';
    return Marker.safeParse(value).data;
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** @throws FileError */
export function writeMarker(
  { directory, stage, owner }: Pick<Destination, 'directory' | 'stage' | 'owner'>,
  facts: Omit<Marker, 'version' | 'tries'>,
): void {
  const before = readMarker(directory);
  if (before === 'newer') return;
  const tries = before?.table === facts.table ? before.tries + 1 : 1;
  const marker: Marker = { version: VERSION, ...facts, tries };
  const { fd } = openChildFile(stage, MARKER, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC);
  try {
    writeSync(fd, `${JSON.stringify(marker)}\n`);
    fchownSync(fd, owner.uid, owner.gid);
    fsyncSync(fd);
    renameChild(stage, MARKER, directory, MARKER);
  } finally {
    closeSync(fd);
  }
  syncDirectory(directory);
}
