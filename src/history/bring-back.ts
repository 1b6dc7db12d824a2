/** What a start names and a prune has moved away comes back before its pi looks for it (S11). */
import { statChild } from '../lib/directory-entries.ts';
import type { DirectoryHandle } from '../lib/directory-handle.ts';
import { hasCode } from '../lib/errors.ts';
import { turns } from '../lib/turns.ts';
import { inFolder } from './folders.ts';
import { originalPlace, type Place, parsePlace, placePath } from './layout.ts';
import type { NamedHere } from './named.ts';
import { inHistory } from './own-directory.ts';
import { restoreSession } from './restore.ts';
import { AmbiguousSessionError, findSession, isNewerCopy, SessionNotFoundError } from './select.ts';
import type { History, HistoryNeeds } from './types.ts';
import { walkTrash } from './walk.ts';

/** More than these are no longer what one start means (rule 7). */
const MOST_COPIES = 100;

/**
 * Restores the Sessions that `named` names by file or id, where only the trash has them: one that another sandbox's prune
 * took in the moment before, or days ago. An id that fits several is pi's to refuse. A folder names what is in it now.
 *
 * @throws what `restoreSession` throws
 */
export async function bringBackNamed(
  history: History,
  named: Pick<NamedHere, 'ids' | 'files'>,
  needs: HistoryNeeds = {},
): Promise<{ file: string; id: string }[]> {
  if (named.ids.length + named.files.length === 0) return [];
  const { copies, byFile } = await inHistory(history, async (root) => {
    const copies = await inTrash(root, named, needs);
    const missing = [...copies].filter(
      ([original]) => named.files.includes(original) && !isInPlace(root, original),
    );
    return { copies, byFile: missing.map(([, copy]) => placePath(copy)) };
  });
  const wanted = new Set(byFile);
  for (const id of named.ids) {
    if (![...copies.values()].some((copy) => mayBe(copy, id))) continue;
    const file = await meant(history, id, needs);
    if (file !== undefined) wanted.add(file);
  }
  const back: { file: string; id: string }[] = [];
  for (const selector of wanted) back.push(await restoreSession(history, selector, needs));
  return back;
}

/** By where it was: the newest copy of each Session of the trash that may be meant. None of them is opened. */
async function inTrash(
  root: DirectoryHandle,
  { ids, files }: Pick<NamedHere, 'ids' | 'files'>,
  { signal }: HistoryNeeds,
): Promise<Map<string, Place>> {
  const copies = new Map<string, Place>();
  const turn = turns(signal);
  for (const found of walkTrash(root)) {
    if (turn.due()) await turn.give();
    const before = found.kind === 'file' ? originalPlace(found.place) : undefined;
    if (found.kind !== 'file' || before === undefined) continue;
    const original = placePath(before);
    if (!files.includes(original) && !ids.some((id) => mayBe(before, id))) continue;
    const known = copies.get(original);
    if (known !== undefined && !isNewerCopy(found.place, known)) continue;
    if (known === undefined && copies.size >= MOST_COPIES) continue;
    copies.set(original, found.place);
  }
  return copies;
}

/** pi puts the id into a Session's name; its header, which is read later, decides. */
function mayBe({ name }: Place, id: string): boolean {
  return name.includes(`_${id}`);
}

function isInPlace(root: DirectoryHandle, original: string): boolean {
  const place = parsePlace(original);
  if (place === undefined) return true;
  try {
    return inFolder(root, place, (folder) => statChild(folder, place.name) !== undefined);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}

/** Undefined for none and for several. */
async function meant(history: History, id: string, needs: HistoryNeeds): Promise<string | undefined> {
  try {
    const { file, trashed } = await findSession(history, id, needs);
    return trashed ? file : undefined;
  } catch (error) {
    if (error instanceof SessionNotFoundError || error instanceof AmbiguousSessionError) return undefined;
    throw error;
  }
}
