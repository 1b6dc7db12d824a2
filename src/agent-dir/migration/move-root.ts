/** Brings one straggler to its new place (W10): the whole root by one rename, or entry by entry. */
import { removeEmptyChild, renameChild, statChild, syncDirectory } from '../../lib/directory-entries.ts';
import { type DirectoryHandle, makeChildDirectory } from '../../lib/directory-handle.ts';
import { hasCode, LimitError, messageOf } from '../../lib/errors.ts';
import { goesWhole, namesIn, whereThere, withChild } from './look.ts';
import { sweep } from './marks.ts';
import { type Placed, placeEntry } from './place.ts';
import type { Steps } from './report.ts';
import { CONFLICTS, placesOf, type Straggler } from './rules.ts';

/** Copies of one name that were kept because another stood there; more than this is no accident. */
const MAX_CONFLICTS = 1_000;

export interface Moving {
  /** The agent directory. */
  readonly top: DirectoryHandle;
  readonly steps: Steps;
  /** Entries of one root that are looked at in one run. */
  readonly limit: number;
}

/** @param straggler one that was found to have something to move */
export function moveStraggler(moving: Moving, straggler: Straggler): void {
  const { steps } = moving;
  const { name, kind, to } = straggler;
  try {
    if (kind === 'file') moveFile(moving, straggler);
    else if (moveWhole(moving, straggler)) steps.add({ what: 'moved', from: name, to: to.join('/') });
    else moveEntries(moving, straggler);
  } catch (error) {
    steps.add({ what: 'left', from: name, reason: messageOf(error) });
  }
}

/** False when it cannot go in one piece, also since its new place is on another file system. */
function moveWhole({ top }: Moving, { name, to, keep = [] }: Straggler): boolean {
  if (!goesWhole(top, name, to, keep)) return false;
  return inDirectory(top, to.slice(0, -1), (parent) => {
    try {
      renameChild(top, name, parent, to.at(-1) ?? name);
    } catch (error) {
      if (hasCode(error, 'EXDEV', 'EBUSY', 'ENOTEMPTY', 'EEXIST')) return false;
      throw error;
    }
    syncDirectory(parent);
    syncDirectory(top);
    return true;
  });
}

function moveFile(moving: Moving, straggler: Straggler): void {
  const { top, steps } = moving;
  const { name, to } = straggler;
  const newName = to.at(-1) ?? name;
  const isThere = (): boolean => statChild(top, name) !== undefined;
  if (!isThere()) {
    sweepPlaces(top, straggler, (original) => original === name && isThere());
    return;
  }
  const placed = inDirectory(top, to.slice(0, -1), (parent) => {
    const outcome = placeEntry({ from: top, name, to: parent, newName });
    syncDirectory(parent);
    return outcome;
  });
  tell(steps, placed, name, to.join('/'), () => keepBoth(moving, top, name, CONFLICTS));
  sweepPlaces(top, straggler, (original) => original === name && isThere());
}

function sweepPlaces(
  top: DirectoryHandle,
  straggler: Straggler,
  isThere: (original: string) => boolean,
): void {
  for (const place of placesOf(straggler)) whereThere(top, place, (directory) => sweep(directory, isThere));
}

function moveEntries(moving: Moving, straggler: Straggler): void {
  const { top, steps, limit } = moving;
  const { name, to, keep = [] } = straggler;
  withChild(top, name, (root) => {
    const names = namesIn(root, limit + 1);
    if (names.length > limit) steps.incomplete = true;
    const wanted = names.slice(0, limit).filter((entry) => !keep.includes(entry));
    if (wanted.length === 0) return;
    inDirectory(top, to, (target) => {
      for (const entry of wanted) {
        const placed = placeEntry({ from: root, name: entry, to: target, newName: entry });
        const from = `${name}/${entry}`;
        tell(steps, placed, from, [...to, entry].join('/'), () =>
          keepBoth(moving, root, entry, [...CONFLICTS, name]),
        );
      }
      syncDirectory(target);
      syncDirectory(root);
    });
  });
  // Before the root goes, which is what the next run would look for.
  const left = new Set(withChild(top, name, (root) => namesIn(root, limit + 1)));
  sweepPlaces(top, straggler, (entry) => left.has(entry));
  // Only what is empty goes: links, what stays, and what is past the limit keep it.
  if (removeEmptyChild(top, name)) syncDirectory(top);
}

function tell(steps: Steps, placed: Placed, from: string, to: string, keep: () => Kept): void {
  const kept = placed.outcome === 'taken' ? keep() : placed;
  if ('to' in kept) steps.add({ what: 'conflict', from, to: kept.to });
  else if ('reason' in kept) steps.add({ what: 'left', from, reason: kept.reason });
  else steps.add({ what: 'moved', from, to });
}

type Kept = { readonly to: string } | { readonly reason: string };

/** Keeps an entry whose new place is taken, under the first free name. */
function keepBoth({ top }: Moving, from: DirectoryHandle, name: string, directory: readonly string[]): Kept {
  return inDirectory(top, directory, (to) => {
    for (let n = 1; n <= MAX_CONFLICTS; n++) {
      const newName = n === 1 ? name : `${name}.${n}`;
      const placed = placeEntry({ from, name, to, newName });
      if (placed.outcome === 'left') return placed;
      if (placed.outcome === 'taken') continue;
      syncDirectory(to);
      return { to: [...directory, newName].join('/') };
    }
    throw new LimitError(`there are already ${MAX_CONFLICTS} copies of ${name} in ${directory.join('/')}`);
  });
}

/** Opens a directory below another, step by step and through no link, making what is missing. */
function inDirectory<T>(
  top: DirectoryHandle,
  names: readonly string[],
  work: (directory: DirectoryHandle) => T,
): T {
  const [first, ...rest] = names;
  if (first === undefined) return work(top);
  if (statChild(top, first) === undefined) makeChildDirectory(top, first).close();
  return withChild(top, first, (child) => inDirectory(child, rest, work));
}
