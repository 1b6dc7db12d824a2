/** The state files of a run (R1): read by anybody without a lock, written by the holder of the run's lock only. */
import { lstatSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { writeFileAtomic } from '../lib/atomic-file.ts';
import { readRegularFile } from '../lib/bounded-read.ts';
import { LimitError, messageOf, PiSandboxError } from '../lib/errors.ts';
import { FileError } from '../lib/file-error.ts';
import {
  type FileFacts,
  jsonFileText,
  MANIFEST_BYTES,
  MANIFEST_FILE,
  type Manifest,
  parseManifest,
} from './manifest.ts';
import { type RunDirectory, worktreesDirectory } from './places.ts';
import { parseStatus, type RunState, STATUS_BYTES, STATUS_FILE } from './status-file.ts';
import {
  parseWorktrees,
  WORKTREES_BYTES,
  WORKTREES_FILE,
  type WorktreeRecord,
  worktreesValue,
} from './worktrees-file.ts';

export function readManifest(run: RunDirectory): Promise<FileFacts<Manifest>> {
  return read(run, MANIFEST_FILE, MANIFEST_BYTES, (text) => parseManifest(text, basename(run)));
}

export function readState(run: RunDirectory): Promise<FileFacts<RunState>> {
  return read(run, STATUS_FILE, STATUS_BYTES, (text) => parseStatus(text, basename(run)));
}

/** No file is no worktree. */
export async function readWorktrees(run: RunDirectory): Promise<FileFacts<readonly WorktreeRecord[]>> {
  const facts = await read(run, WORKTREES_FILE, WORKTREES_BYTES, parseWorktrees);
  if (facts.kind === 'none') return { kind: 'known', value: [] };
  return facts.kind === 'known' ? { kind: 'known', value: facts.value.worktrees } : facts;
}

/**
 * Steps that have something where worktrees are though the list names none of them, as where somebody has removed or changed it:
 * whatever that is, it may be work (R5).
 *
 * @throws FileError
 */
export function unlistedWorktrees(run: RunDirectory, listed: readonly WorktreeRecord[]): string[] {
  const directory = worktreesDirectory(run);
  const known = new Set(listed.filter(({ cleanedUp }) => !cleanedUp).map(({ stepId }) => stepId));
  try {
    // A link is removed itself, and not what is behind it.
    if (lstatSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
    // Those with a dot are no step's.
    return readdirSync(directory).filter((name) => !name.startsWith('.') && !known.has(name));
  } catch (error) {
    throw new FileError('read directory', directory, error);
  }
}

/** What cannot be read is damaged: whoever lists goes on. */
async function read<T>(
  run: RunDirectory,
  name: string,
  maxBytes: number,
  parse: (text: string) => FileFacts<T>,
): Promise<FileFacts<T>> {
  let bytes: Buffer | undefined;
  try {
    bytes = await readRegularFile(join(run, name), { maxBytes });
  } catch (error) {
    if (!(error instanceof PiSandboxError)) throw error;
    return { kind: 'damaged', reason: messageOf(error) };
  }
  return bytes === undefined ? { kind: 'none' } : parse(bytes.toString('utf8'));
}

/** @throws FileError */
export function writeManifest(run: RunDirectory, manifest: Manifest): Promise<void> {
  return write(run, MANIFEST_FILE, MANIFEST_BYTES, manifest);
}

/** @throws FileError */
export function writeState(run: RunDirectory, state: RunState): Promise<void> {
  return write(run, STATUS_FILE, STATUS_BYTES, state);
}

/** @throws FileError */
export function writeWorktrees(run: RunDirectory, worktrees: readonly WorktreeRecord[]): Promise<void> {
  return write(run, WORKTREES_FILE, WORKTREES_BYTES, worktreesValue(worktrees));
}

/** What nobody would read takes the place of nothing that can be read. */
async function write(run: RunDirectory, name: string, maxBytes: number, value: object): Promise<void> {
  const text = jsonFileText(value);
  const path = join(run, name);
  if (Buffer.byteLength(text) > maxBytes)
    throw new LimitError(`${path} would be longer than ${maxBytes} bytes`);
  await writeFileAtomic(path, text, { follow: false });
}
