/** The state files of a run (R1): read by anybody without a lock, written by the holder of the run's lock only. */
import { basename, join } from 'node:path';
import { writeFileAtomic } from '../lib/atomic-file.ts';
import { readRegularFile } from '../lib/bounded-read.ts';
import { messageOf, PiSandboxError } from '../lib/errors.ts';
import {
  type FileFacts,
  jsonFileText,
  MANIFEST_BYTES,
  MANIFEST_FILE,
  type Manifest,
  parseManifest,
} from './manifest.ts';
import type { RunDirectory } from './places.ts';
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
  return write(run, MANIFEST_FILE, manifest);
}

/** @throws FileError */
export function writeState(run: RunDirectory, state: RunState): Promise<void> {
  return write(run, STATUS_FILE, state);
}

/** @throws FileError */
export function writeWorktrees(run: RunDirectory, worktrees: readonly WorktreeRecord[]): Promise<void> {
  return write(run, WORKTREES_FILE, worktreesValue(worktrees));
}

function write(run: RunDirectory, name: string, value: object): Promise<void> {
  return writeFileAtomic(join(run, name), jsonFileText(value), { follow: false });
}
