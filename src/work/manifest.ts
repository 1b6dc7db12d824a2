/** `.pi-work-run.json`: what makes a directory a run of ours, and says when it was last used (W4, W7). */
import {
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  futimesSync,
  readSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { statChild } from '../lib/directory-entries.ts';
import { type DirectoryHandle, openChildFile } from '../lib/directory-handle.ts';
import { hasCode, messageOf, PiSandboxError } from '../lib/errors.ts';
import { FileError } from '../lib/file-error.ts';
import { isHeld, type KernelLock, tryLock } from '../lib/kernel-lock.ts';
import { MANIFEST } from './layout.ts';
import { isWorkSegment, type WorkRunName, type WorkSegment } from './names.ts';
import { stampFile } from './stamp.ts';

const VERSION = 1;
const MAX_BYTES = 4_096;

const Manifest = z.object({
  version: z.literal(VERSION),
  category: z.string(),
  tenant: z.string(),
  runId: z.string(),
  /** ISO 8601. */
  createdAt: z.string().check(z.refine((text) => !Number.isNaN(Date.parse(text)))),
});
const Newer = z.object({ version: z.int().check(z.gt(VERSION)) });

export type ManifestFacts =
  | {
      readonly kind: 'ours';
      readonly runId: WorkSegment;
      readonly createdAt: Date;
      /** The file's mtime, for whoever uses the run sets it; milliseconds. */
      readonly lastUse: number;
      /** Of the file. */
      readonly inode: number;
    }
  /** No manifest, or one that is not this run's; what it is instead, for people. */
  | { readonly kind: 'unowned'; readonly reason: string };

/** Writes the manifest of a run that nobody sees yet, and waits for the disk. */
export function writeManifest(run: DirectoryHandle, name: WorkRunName, createdAt: Date): void {
  const { category, tenant, runId } = name;
  const text = JSON.stringify({
    version: VERSION,
    category,
    tenant,
    runId,
    createdAt: createdAt.toISOString(),
  });
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
  const { fd } = openChildFile(run, MANIFEST, flags);
  try {
    // `writeSync` may write a part, and a run with a part of a manifest is nobody's.
    writeFileSync(fd, `${text}\n`);
    futimesSync(fd, createdAt, createdAt);
    fsyncSync(fd);
  } catch (error) {
    throw new FileError('write', `${run.path}/${MANIFEST}`, error);
  } finally {
    closeSync(fd);
  }
}

/** Without a run id: that of any run of this tenant, for one that does not stand at its name any more. */
type Expected = Omit<WorkRunName, 'runId'> & Partial<WorkRunName>;

/**
 * Whether a directory is the run that its place says: a regular file of at most 4 KiB, of this version, with this
 * category, tenant and run id. Anything else keeps it from being used or deleted.
 */
export function readManifest(run: DirectoryHandle, name: Expected): ManifestFacts {
  try {
    const seen = statChild(run, MANIFEST);
    if (seen === undefined) return unowned('it has no manifest');
    if (!seen.isFile()) return unowned('its manifest is not a regular file');
    if (seen.size > MAX_BYTES) return unowned(`its manifest is longer than ${MAX_BYTES} bytes`);
    return judge(readWhole(run, seen), name, seen);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return unowned('it has no manifest');
    if (error instanceof PiSandboxError) return unowned(messageOf(error));
    throw error;
  }
}

function judge(text: string | undefined, name: Expected, seen: Stats): ManifestFacts {
  if (text === undefined) return unowned(`its manifest is longer than ${MAX_BYTES} bytes`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return unowned('its manifest is not JSON');
  }
  const manifest = z.safeParse(Manifest, value).data;
  if (manifest === undefined) {
    const newer = z.safeParse(Newer, value).success;
    return unowned(newer ? 'a newer version of this program made it' : 'its manifest is not one');
  }
  const { category, tenant, runId, createdAt } = manifest;
  const same = category === name.category && tenant === name.tenant && runId === (name.runId ?? runId);
  if (!same || !isWorkSegment(runId)) {
    return unowned('its manifest is that of another run');
  }
  return { kind: 'ours', runId, createdAt: new Date(createdAt), lastUse: seen.mtimeMs, inode: seen.ino };
}

/** Undefined when it grew meanwhile. */
function readWhole(run: DirectoryHandle, seen: Stats): string | undefined {
  const { fd } = openChildFile(run, MANIFEST, constants.O_RDONLY, 0, seen);
  try {
    const buffer = Buffer.allocUnsafe(MAX_BYTES + 1);
    const length = readSync(fd, buffer, 0, buffer.length, 0);
    return length > MAX_BYTES ? undefined : buffer.toString('utf8', 0, length);
  } catch (error) {
    throw new FileError('read', join(run.path, MANIFEST), error);
  } finally {
    closeSync(fd);
  }
}

/**
 * Takes the gate of a run: whoever joins it or removes it does so alone. Undefined when somebody has it, or only looks at it
 * (a probe of `lib/kernel-lock.ts`).
 *
 * @throws FileError (`code` ENOENT without a manifest)
 */
export function tryGate(run: DirectoryHandle): KernelLock | undefined {
  const attempt = (): KernelLock | undefined => tryLock(run.at(MANIFEST), { borrowed: true });
  try {
    return attempt();
  } catch (error) {
    // Somebody made all of the run read-only, and only what can be written can be locked.
    if (!hasCode(error, 'EACCES') || !madeWritable(run)) throw error;
    return attempt();
  }
}

/** False for a file that has another name too: that one may be somebody else's. */
function madeWritable(run: DirectoryHandle): boolean {
  const { fd, stats } = openChildFile(run, MANIFEST);
  try {
    if (stats.nlink > 1) return false;
    fchmodSync(fd, 0o600);
    return true;
  } catch (error) {
    throw new FileError('change', join(run.path, MANIFEST), error);
  } finally {
    closeSync(fd);
  }
}

/** Whether somebody has the gate. */
export function isGateHeld(run: DirectoryHandle): boolean {
  return isHeld(run.at(MANIFEST));
}

/** Whether the manifest is the very file that was judged, and nobody has used the run since. */
export function isUnused(run: DirectoryHandle, judged: { manifest: number; lastUse: number }): boolean {
  const there = statChild(run, MANIFEST);
  return there?.isFile() === true && there.ino === judged.manifest && there.mtimeMs === judged.lastUse;
}

/**
 * Says that the run is in use at this moment (W7).
 *
 * @throws FileError, NotRegularFileError
 */
export function stampLastUse(run: DirectoryHandle, now: Date): void {
  stampFile(run, MANIFEST, now, constants.O_RDONLY);
}

function unowned(reason: string): ManifestFacts {
  return { kind: 'unowned', reason };
}
