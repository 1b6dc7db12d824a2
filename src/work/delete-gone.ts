/** Deleting a directory that has been moved out of its name: a job, or a run. */
import { removeEmptyChild, statChild, unlinkChild } from '../lib/directory-entries.ts';
import { type DirectoryHandle, openChildDirectory } from '../lib/directory-handle.ts';
import { turns } from '../lib/turns.ts';
import { type Deletion, deleteContent } from './delete-tree.ts';

/**
 * Deletes it with one file last, which says what it was: so what a crash leaves can be gone on with.
 *
 * @param beforeLast does what else goes with it
 */
export async function deleteGone(
  parent: DirectoryHandle,
  name: string,
  last: string,
  beforeLast: () => void = () => undefined,
): Promise<Deletion> {
  const directory = openChildDirectory(parent, name);
  try {
    const turn = turns();
    const deleting = deleteContent(directory, { keep: last, measure: true });
    let step = deleting.next();
    for (; !step.done; step = deleting.next()) if (turn.due()) await turn.give();
    const deletion = step.value;
    if (deletion.obstacle !== undefined) return deletion;
    beforeLast();
    if (statChild(directory, last) !== undefined) unlinkChild(directory, last);
    removeEmptyChild(parent, name);
    return deletion;
  } finally {
    directory.close();
  }
}
