/** What a run is right now, as its files and its lock say: read by anybody, without the lock (R6, R8). */
import { lstatSync, readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { hasCode, PiSandboxError } from '../lib/errors.ts';
import { FileError } from '../lib/file-error.ts';
import { isHeld } from '../lib/kernel-lock.ts';
import { RunError } from './errors.ts';
import { readManifest, readState } from './files.ts';
import { type FileFacts, MANIFEST_FILE, type Manifest } from './manifest.ts';
import { type OwnershipFacts, ownershipFacts } from './ownership.ts';
import { type RunDirectory, runLock } from './places.ts';
import { misfitOf, type RunState, STATUS_FILE } from './status-file.ts';

export interface KnownRun {
  readonly kind: 'run';
  readonly id: string;
  readonly directory: RunDirectory;
  readonly manifest: Manifest;
  readonly state: RunState;
  /** Undefined: the lock could not be asked. Of a run that has ended nobody asks. */
  readonly held: boolean | undefined;
}

/** What only tells that it is there. */
export type StrangeRun = { readonly id: string; readonly directory: RunDirectory } & (
  | { readonly kind: 'too-old' | 'too-new'; readonly schemaVersion: number }
  | { readonly kind: 'damaged'; readonly reason: string }
);

/** `none`: no directory of its own, or an id that is only claimed yet. */
export type RunView = KnownRun | StrangeRun | { readonly kind: 'none'; readonly id: string };

/**
 * @param known whether somebody owns it, for a caller that holds the lock itself
 * @throws FileError where the directory itself cannot be looked at
 */
export async function readRun(directory: RunDirectory, known?: { held: boolean }): Promise<RunView> {
  const id = basename(directory);
  if (!isDirectory(directory)) return { kind: 'none', id };
  const manifest = await readManifest(directory);
  if (manifest.kind === 'none') return withoutManifest(directory);
  const state = await readState(directory);
  const [strange] = [manifest, state].flatMap((facts) => strangeOf(id, directory, facts));
  if (strange !== undefined) return strange;
  if (manifest.kind !== 'known' || state.kind !== 'known')
    return { kind: 'damaged', id, directory, reason: `there is no ${STATUS_FILE}` };
  const misfit = misfitOf(state.value, manifest.value.graph);
  if (misfit !== undefined) return { kind: 'damaged', id, directory, reason: misfit };
  const run = { kind: 'run', id, directory, manifest: manifest.value } as const;
  if (state.value.terminal) return { ...run, state: state.value, held: false };
  const held = known ? known.held : askLock(directory);
  if (held !== false) return { ...run, state: state.value, held };
  // It may have ended between the two looks; what is not final now was an orphan when its lock was free.
  const again = await readState(directory);
  return { ...run, state: again.kind === 'known' ? again.value : state.value, held };
}

/** A link in its place leads to what is none of ours: nothing is locked, written or read behind it (rule 3). */
function isDirectory(directory: RunDirectory): boolean {
  try {
    return lstatSync(directory, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch (error) {
    if (hasCode(error, 'ENOTDIR')) return false;
    throw new FileError('look at', directory, error);
  }
}

function strangeOf(id: string, directory: RunDirectory, facts: FileFacts<unknown>): StrangeRun[] {
  if (facts.kind === 'known' || facts.kind === 'none') return [];
  return [{ id, directory, ...facts }];
}

function withoutManifest(directory: RunDirectory): RunView {
  const id = basename(directory);
  if (!hasContent(directory)) return { kind: 'none', id };
  return { kind: 'damaged', id, directory, reason: `there is no ${MANIFEST_FILE}` };
}

/** An empty directory is only a claim on an id. @throws FileError */
export function hasContent(directory: RunDirectory): boolean {
  try {
    return readdirSync(directory).length > 0;
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return false;
    throw new FileError('read directory', directory, error);
  }
}

/** Whether somebody owns it; undefined where that cannot be told (R6). */
export function askLock(directory: RunDirectory): boolean | undefined {
  try {
    return isHeld(runLock(directory));
  } catch (error) {
    if (!(error instanceof PiSandboxError)) throw error;
    return undefined;
  }
}

/** What decides who may change it. */
export function factsOf({ manifest, state, held }: KnownRun): OwnershipFacts {
  return ownershipFacts(manifest, state, held);
}

/** The run that can be worked with. @throws RunError `not-found`, `damaged`, `schema-version-too-old`, `-too-new` */
export function knownRun(view: RunView): KnownRun {
  switch (view.kind) {
    case 'run':
      return view;
    case 'none':
      throw new RunError('not-found', `there is no run ${view.id}`, {
        hint: 'multi-agent runs list --all-projects shows all',
      });
    case 'damaged':
      throw new RunError('damaged', `run ${view.id} is damaged: ${view.reason}`, {
        hint: `multi-agent runs cleanup --force ${view.id} removes it`,
        details: { runDir: view.directory },
      });
    case 'too-old':
    case 'too-new':
      throw new RunError(
        `schema-version-${view.kind}`,
        `run ${view.id} was written by ${view.kind === 'too-new' ? 'a newer' : 'an older'} version (schema ${view.schemaVersion})`,
        {
          hint: `use the version that it was started with; multi-agent runs cleanup --force ${view.id} removes it`,
          details: { schemaVersion: view.schemaVersion, runDir: view.directory },
        },
      );
  }
}

/** @throws as {@link knownRun}; FileError */
export async function readKnownRun(directory: RunDirectory): Promise<KnownRun> {
  return knownRun(await readRun(directory));
}
