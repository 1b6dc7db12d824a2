/**
 * Takes a tar of Sessions into a sessions directory (S15): of a user's in a helper container, of a domain's on the host.
 * Nothing of the tar is believed (rule 8): only regular files, only a Session's name in at most one folder, bounded.
 */
import { closeSync, constants, fchmodSync, fchownSync, futimesSync, writeSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { unlinkChild } from '../../lib/directory-entries.ts';
import { openChildFile } from '../../lib/directory-handle.ts';
import { hasCode, LimitError, messageOf, OperationError } from '../../lib/errors.ts';
import { isOurs, type Place, parsePlace, placePath } from '../layout.ts';
import { commitArrivals, type Staged } from './commit.ts';
import type { Destination } from './destination.ts';
import { type ArrivalReport, emptyArrival, name as note } from './report.ts';

/** So much is written before it is made durable and gets its names. */
const BATCH = { files: 128, bytes: 32 * 1024 * 1024 };
/** pi's longest Sessions are some 50 MB; what is larger was made to fill a disk. */
export const MAX_SESSION_BYTES = 1024 * 1024 * 1024;
const MAX_FILES = 2_000_000;
const MAX_NAME_BYTES = 255;
const CREATE = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL;

export interface ReceiveOptions {
  /** Added to the name of a Session that finds another one in its place: `imported`, `exported`. */
  readonly word: string;
  /** More than this in all is not taken: what a sandbox sends has no other end. */
  readonly maxBytes?: number;
  readonly onProgress?: (report: ArrivalReport) => void;
  readonly signal?: AbortSignal;
  /** For tests: called between any two steps that change something. */
  readonly between?: (step: string) => void;
}

interface Header {
  readonly name: string;
  readonly size?: number | undefined;
  readonly type?: string | null | undefined;
  readonly mtime?: Date | undefined;
  readonly pax?: unknown;
}

/**
 * Receives all of it; what came before a failure stays, each Session whole.
 *
 * @throws FileError (the disk is full), Error (the tar ends in its middle)
 */
export async function receiveSessions(
  tar: Readable,
  destination: Destination,
  options: ReceiveOptions,
): Promise<ArrivalReport> {
  const { extract } = await import('../../lib/tar-stream.ts');
  const report = emptyArrival();
  const staged: Staged[] = [];
  const { maxBytes = Number.POSITIVE_INFINITY } = options;
  let total = 0;
  let number = 0;
  let stop: unknown;
  try {
    for await (const entry of tar.pipe(failingWith(tar, extract()))) {
      options.signal?.throwIfAborted();
      if (++number > MAX_FILES) throw new OperationError(`more than ${MAX_FILES} files are sent`);
      const { header } = entry;
      const place = placeOf(header);
      if (typeof place === 'string') {
        note(report.failed, { file: header.name, reason: place });
        entry.resume();
        continue;
      }
      total += header.size ?? 0;
      if (total > maxBytes) throw new LimitError(`more than ${maxBytes} bytes are sent`);
      staged.push(await stage(destination, String(number), { header, place }, entry));
      const bytes = staged.reduce((sum, { size }) => sum + size, 0);
      if (staged.length < BATCH.files && bytes < BATCH.bytes) continue;
      await commitArrivals(destination, staged.splice(0), report, options);
      options.onProgress?.(report);
    }
  } catch (error) {
    stop = error;
  }
  await commitArrivals(destination, staged, report, options).catch((error: unknown) => (stop ??= error));
  if (stop !== undefined) throw hasCode(stop, 'ENOSPC', 'EDQUOT') ? full(stop) : stop;
  return report;
}

/** A broken source ends the reader too, which would wait for ever. */
function failingWith<T extends { destroy(error?: Error): unknown }>(source: Readable, reader: T): T {
  source.once('error', (error) => reader.destroy(error));
  return reader;
}

/** Where it goes, or why it doesn't. */
function placeOf({ name, type, size = 0 }: Header): Place | string {
  if ((type ?? 'file') !== 'file' && type !== 'contiguous-file') return `it is a ${type}`;
  const place = parsePlace(name);
  const parts = [place?.folder, place?.name].filter((part) => part !== undefined);
  if (place === undefined || place.day !== undefined || parts.some(isHidden))
    return 'it is no name of a Session';
  if (parts.some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES)) return 'its name is too long';
  if (size > MAX_SESSION_BYTES) return `it is larger than the ${MAX_SESSION_BYTES} bytes that are copied`;
  return place;
}

function isHidden(part: string): boolean {
  return part.startsWith('.') || isOurs(part);
}

async function stage(
  { stage: directory, owner }: Destination,
  name: string,
  { header, place }: { header: Header; place: Place },
  content: AsyncIterable<unknown>,
): Promise<Staged> {
  const { fd } = openChildFile(directory, name, CREATE);
  try {
    let size = 0;
    for await (const piece of content) {
      if (!(piece instanceof Uint8Array)) continue;
      for (let at = 0; at < piece.length; ) at += writeSync(fd, piece, at);
      size += piece.length;
    }
    if (size !== (header.size ?? 0)) throw new OperationError(`${placePath(place)} did not come whole`);
    if (process.geteuid?.() === 0) fchownSync(fd, owner.uid, owner.gid);
    fchmodSync(fd, 0o600);
    const time = timeOf(header);
    if (time !== undefined) futimesSync(fd, time, time);
    return { fd, name, place, size };
  } catch (error) {
    closeSync(fd);
    unlinkChild(directory, name);
    throw error;
  }
}

/** One line that says what to do, wherever it is read. */
function full(error: unknown): OperationError {
  return new OperationError(`there is no room for more Sessions: ${messageOf(error)}`, {
    hint: 'free some space, then the same command again: what came over stays and is not copied twice',
    cause: error,
  });
}

/** Seconds. A tar's own field has whole ones; Node takes them as floating point, and cuts the last digits off. */
function timeOf({ pax, mtime }: Header): number | undefined {
  const given = typeof pax === 'object' && pax !== null && 'mtime' in pax ? pax.mtime : undefined;
  const exact = typeof given === 'string' ? Number(given) : Number.NaN;
  if (Number.isFinite(exact) && exact >= 0 && exact < 1e12) return exact + 5e-7;
  return mtime === undefined ? undefined : mtime.getTime() / 1000;
}
