/** How large runs are, without one run's size keeping the others from being measured (W7). */
import { entriesOf, statChild } from '../lib/directory-entries.ts';
import { type DirectoryHandle, MountPointError, openChildDirectory } from '../lib/directory-handle.ts';
import { hasCode, messageOf, PiSandboxError } from '../lib/errors.ts';
import { isUndecodable, statUndecodable, undecodableEntries } from '../lib/stubborn-entries.ts';
import type { turns } from '../lib/turns.ts';
import { diskBytes } from './delete-tree.ts';

/** So often a walk comes back, for its caller to let others work. */
const PAUSE_EVERY = 256;
/** After so many looks at the same runs, a further one must be able to see {@link WORTH_IT} as much. */
const PLENTY_OF_LOOKS = 16;
const WORTH_IT = 1.5;
/** What an owner needs to list a directory and to reach what is in it. */
const READABLE = 0o500;

export interface TreeSize {
  /** Disk that its files take. A file with several names counts with each. */
  readonly bytes: number;
  readonly entries: number;
  /** False when there was more than could be looked at, or something that could not be. */
  readonly complete: boolean;
  /** Why the system did not let it be measured, which says nothing about the tree (rule 3). */
  readonly refused?: string | undefined;
}

interface Walk {
  bytes: number;
  entries: number;
  complete: boolean;
  refused: string | undefined;
  readonly maxEntries: number;
  readonly maxDepth: number;
}

/** Measures a tree, up to a number of entries and a depth. Links are not followed; a mount in it is not part of it. */
export function* measureTree(
  directory: DirectoryHandle,
  limits: { maxEntries: number; maxDepth: number },
): Generator<undefined, TreeSize, undefined> {
  const walk: Walk = { bytes: 0, entries: 0, complete: true, refused: undefined, ...limits };
  try {
    yield* measureEntries(walk, directory, 1);
  } catch (error) {
    refuse(walk, error);
  }
  const { bytes, entries, complete, refused } = walk;
  return { bytes, entries, complete, refused };
}

function refuse(walk: Walk, error: unknown): void {
  if (!(error instanceof PiSandboxError)) throw error;
  walk.complete = false;
  walk.refused ??= messageOf(error);
}

type Walking = Generator<undefined, void, undefined>;

function* measureEntries(walk: Walk, directory: DirectoryHandle, depth: number): Walking {
  let undecodable = false;
  for (const entry of entriesOf(directory)) {
    if (walk.entries === walk.maxEntries) {
      walk.complete = false;
      return;
    }
    if (++walk.entries % PAUSE_EVERY === 0) yield undefined;
    const stats = statChild(directory, entry.name);
    walk.bytes += diskBytes(stats);
    if (stats === undefined && isUndecodable(entry.name)) undecodable = true;
    else if (entry.isDirectory()) yield* measureBelow(walk, directory, entry.name, depth + 1);
  }
  if (!undecodable) return;
  for (const { name, isDirectory } of undecodableEntries(directory)) {
    walk.bytes += diskBytes(statUndecodable(directory, name));
    if (isDirectory) yield* measureBelow(walk, directory, name, depth + 1);
  }
}

function* measureBelow(walk: Walk, parent: DirectoryHandle, name: string | Buffer, depth: number): Walking {
  if (depth > walk.maxDepth) {
    walk.complete = false;
    return;
  }
  let directory: DirectoryHandle | undefined;
  try {
    directory = openChildDirectory(parent, name, { bindMounts: false });
    yield* measureEntries(walk, directory, depth);
  } catch (error) {
    if (!(error instanceof PiSandboxError)) throw error;
    // What was removed meanwhile takes no room; what is mounted there is not the run's.
    if (error instanceof MountPointError || hasCode(error, 'ENOENT')) return;
    if (isClosed(parent, name)) walk.complete = false;
    else refuse(walk, error);
  } finally {
    directory?.close();
  }
}

/** Whether a directory was closed by whoever made it: what it holds is hidden from every look, as depth would. */
function isClosed(parent: DirectoryHandle, name: string | Buffer): boolean {
  try {
    const facts = typeof name === 'string' ? statChild(parent, name) : statUndecodable(parent, name);
    return facts !== undefined && (facts.mode & READABLE) !== READABLE && facts.uid === process.getuid?.();
  } catch (error) {
    if (error instanceof PiSandboxError) return false;
    throw error;
  }
}

/** The size of a run that was never looked into. */
export const UNSEEN: TreeSize = { bytes: 0, entries: 0, complete: false };

/** As {@link measureTree}, for a run of a tenant, giving way to others. */
export async function measureRun(
  tenant: DirectoryHandle,
  runId: string,
  limits: { maxEntries: number; maxDepth: number },
  turn: ReturnType<typeof turns>,
): Promise<TreeSize> {
  let run: DirectoryHandle;
  try {
    run = openChildDirectory(tenant, runId);
  } catch (error) {
    if (!(error instanceof PiSandboxError)) throw error;
    return hasCode(error, 'ENOENT') ? UNSEEN : { ...UNSEEN, refused: messageOf(error) };
  }
  try {
    const walk = measureTree(run, limits);
    let step = walk.next();
    for (; !step.done; step = walk.next()) if (turn.due()) await turn.give();
    return step.value;
  } finally {
    run.close();
  }
}

/** A run to be measured; `lastUse` in milliseconds. */
export interface ToMeasure {
  readonly id: string;
  readonly lastUse: number;
}

/**
 * Measures several runs that may have so many entries together. Each may have the same share of them, and what small
 * runs leave of theirs goes to the others, which are looked at again. When those that are larger than their share have
 * too many entries together, the oldest of them is left unmeasured, and the others share what it would have had. So one
 * huge run takes nothing from the rest, and of many large ones as many of the newest are measured as fit.
 *
 * @param measure one run, up to so many entries
 * @returns the size of each; one that is not complete is over the budget alone
 */
export async function measureFairly(
  runs: readonly ToMeasure[],
  maxEntries: number,
  measure: (id: string, maxEntries: number) => Promise<TreeSize>,
): Promise<Map<string, TreeSize>> {
  const sizes = new Map<string, TreeSize>();
  /** Those known to be larger than what was looked at, the newest first. */
  let larger = [...runs].sort((a, b) => b.lastUse - a.lastUse || (a.id < b.id ? -1 : 1));
  let left = maxEntries;
  for (let looks = 1, seen = 0; larger.length > 0; ) {
    const share = Math.floor(left / larger.length);
    const enough = looks <= PLENTY_OF_LOOKS || larger.length === 1 ? seen + 1 : seen * WORTH_IT;
    if (share < enough) {
      larger.pop();
      continue;
    }
    const still: ToMeasure[] = [];
    for (const run of larger) {
      const size = await measure(run.id, share);
      sizes.set(run.id, size);
      if (size.complete) left -= size.entries;
      else if (size.entries >= share) still.push(run);
    }
    larger = still;
    seen = share;
    looks++;
  }
  return sizes;
}
