/** Deleting a directory of ours whole: through open directories, never through a link, never across a mount (rule 3). */
import { removeEmptyChild, statChild, unlinkChild } from '../../lib/directory-entries.ts';
import { type DirectoryHandle, openChildDirectory } from '../../lib/directory-handle.ts';
import { hasCode } from '../../lib/errors.ts';
import { turns } from '../../lib/turns.ts';
import { deleteContent } from '../../work/index.ts';
import { RunError } from '../errors.ts';

/** No name of an entry: nothing of the directory is kept. */
const NOTHING = '';

/**
 * Where a link or a file stands instead, that is what goes.
 *
 * @throws RunError `failed` naming what could not be removed
 */
export async function deleteChild(parent: DirectoryHandle, name: string): Promise<void> {
  const stats = statChild(parent, name);
  if (stats === undefined) return;
  if (!stats.isDirectory()) {
    unlinkChild(parent, name);
    return;
  }
  const directory = ifThere(() => openChildDirectory(parent, name, { bindMounts: false }));
  if (directory === undefined) return;
  try {
    const turn = turns();
    const deleting = deleteContent(directory, { keep: NOTHING, measure: false });
    let step = deleting.next();
    for (; !step.done; step = deleting.next()) if (turn.due()) await turn.give();
    const { obstacle } = step.value;
    if (obstacle !== undefined)
      throw new RunError('failed', `${obstacle.path} cannot be removed: ${obstacle.reason}`);
  } finally {
    directory.close();
  }
  if (!removeEmptyChild(parent, name) && statChild(parent, name) !== undefined)
    throw new RunError('failed', `${parent.path}/${name} cannot be removed: something is written into it`);
}

/** Undefined for what is not there, or is a link or a file where a directory was expected. */
export function ifThere<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined;
    throw error;
  }
}
