/** Looks for stragglers without changing anything (W10). */
import { entriesOf, statChild } from '../../lib/directory-entries.ts';
import { type DirectoryHandle, openChildDirectory } from '../../lib/directory-handle.ts';
import { messageOf, PiSandboxError } from '../../lib/errors.ts';
import { tracesIn } from './marks.ts';
import type { Steps } from './report.ts';
import { CONFLICTS, placesOf, type Straggler } from './rules.ts';

/** Those that have something to move. Links of such a name are told and stay; so does what cannot be looked into. */
export function findStragglers(
  top: DirectoryHandle,
  rules: readonly Straggler[],
  steps: Pick<Steps, 'add'>,
): Straggler[] {
  return rules.filter((straggler) => {
    const { name } = straggler;
    try {
      if (statChild(top, name)?.isSymbolicLink())
        steps.add({ what: 'left', from: name, reason: 'it is a link' });
      return isStraggling(top, straggler);
    } catch (error) {
      if (!(error instanceof PiSandboxError)) throw error;
      steps.add({ what: 'left', from: name, reason: messageOf(error) });
      return false;
    }
  });
}

function isStraggling(top: DirectoryHandle, straggler: Straggler): boolean {
  const { name, kind, keep = [] } = straggler;
  const facts = statChild(top, name);
  // Another kind of thing of that name is nobody's old layout.
  if (kind === 'file' ? !facts?.isFile() : !facts?.isDirectory()) {
    // A file's move between file systems may have been killed when only its traces were left.
    return (
      facts === undefined && kind === 'file' && placesOf(straggler).some((place) => hasTraces(top, place))
    );
  }
  return keep.length === 0 || names(top, name, keep.length + 1).some((entry) => !keep.includes(entry));
}

/** What a migration would do now; a directory that goes in one piece is one step. */
export function planMoves(
  top: DirectoryHandle,
  found: readonly Straggler[],
  steps: Steps,
  limit: number,
): void {
  for (const { name, kind, to, keep = [] } of found) {
    const place = to.join('/');
    if (kind === 'file' && kindAt(top, [name]) === 'nothing') continue;
    if (kind === 'file') planOne(top, steps, name, to, [...CONFLICTS, name]);
    else if (goesWhole(top, name, to, keep)) steps.add({ what: 'moved', from: name, to: place });
    else {
      const entries = names(top, name, limit + 1);
      if (entries.length > limit) steps.incomplete = true;
      for (const entry of entries.slice(0, limit).filter((each) => !keep.includes(each))) {
        planOne(top, steps, `${name}/${entry}`, [...to, entry], [...CONFLICTS, name, entry]);
      }
    }
  }
}

function planOne(
  top: DirectoryHandle,
  steps: Steps,
  from: string,
  to: readonly string[],
  conflict: readonly string[],
): void {
  if (kindAt(top, from.split('/')) === 'link') steps.add({ what: 'left', from, reason: 'it is a link' });
  else if (kindAt(top, to) === 'nothing') steps.add({ what: 'moved', from, to: to.join('/') });
  else steps.add({ what: 'conflict', from, to: conflict.join('/') });
}

/** False when its new place is there already, or some of it stays where it is. */
export function goesWhole(
  top: DirectoryHandle,
  name: string,
  to: readonly string[],
  keep: readonly string[],
): boolean {
  if (keep.some((entry) => kindAt(top, [name, entry]) !== 'nothing')) return false;
  return kindAt(top, to) === 'nothing';
}

/** What stands at a path below a directory; no link on the way is followed. */
function kindAt(top: DirectoryHandle, path: readonly string[]): 'nothing' | 'link' | 'something' {
  const [first, ...rest] = path;
  const facts = first === undefined ? undefined : statChild(top, first);
  if (first === undefined || facts === undefined) return 'nothing';
  if (facts.isSymbolicLink()) return rest.length === 0 ? 'link' : 'something';
  if (rest.length === 0 || !facts.isDirectory()) return 'something';
  return withChild(top, first, (child) => kindAt(child, rest));
}

function hasTraces(top: DirectoryHandle, place: readonly string[]): boolean {
  return whereThere(top, place, (directory) => tracesIn(directory).length > 0) === true;
}

/** As the work's result; undefined where there is no such directory. */
export function whereThere<T>(
  top: DirectoryHandle,
  path: readonly string[],
  work: (directory: DirectoryHandle) => T,
): T | undefined {
  const [first, ...rest] = path;
  if (first === undefined) return work(top);
  if (!statChild(top, first)?.isDirectory()) return undefined;
  return withChild(top, first, (child) => whereThere(child, rest, work));
}

/** Another file system may be mounted there: a user can have `state/` on another disk. */
export function withChild<T>(top: DirectoryHandle, name: string, work: (directory: DirectoryHandle) => T): T {
  const child = openChildDirectory(top, name, { acrossMounts: true });
  try {
    return work(child);
  } finally {
    child.close();
  }
}

/** At most so many names of what is in a directory. */
function names(top: DirectoryHandle, name: string, most: number): string[] {
  return withChild(top, name, (directory) => namesIn(directory, most));
}

export function namesIn(directory: DirectoryHandle, most: number): string[] {
  const found: string[] = [];
  for (const { name } of entriesOf(directory)) {
    if (found.push(name) >= most) break;
  }
  return found;
}
