/** A domain's sessions directory, opened for what a migration brings. */
import { entriesOf, statChild } from '../../lib/directory-entries.ts';
import { type DirectoryHandle, makeChildDirectory, openDirectory } from '../../lib/directory-handle.ts';
import { type RandomSource, randomId } from '../../lib/ids.ts';
import { type Destination, destinationWith, removeStage } from '../transfer/destination.ts';
import { STAGE_PREFIX } from './names.ts';

/** Opens it, and removes what a migration that was killed has left. Under the store's lock only. */
export function openDestination(sessions: string, random: RandomSource | undefined): Destination {
  const directory = openDirectory(sessions);
  try {
    for (const { name } of [...stagesOf(directory)]) removeStage(directory, name);
    const name = `${STAGE_PREFIX}${randomId(16, random)}`;
    return destinationWith(directory, { name, stage: makeChildDirectory(directory, name) });
  } catch (error) {
    directory.close();
    throw error;
  }
}

function* stagesOf(directory: DirectoryHandle): Generator<{ name: string }> {
  for (const { name } of entriesOf(directory)) {
    if (!name.startsWith(STAGE_PREFIX)) continue;
    const stats = statChild(directory, name);
    if (stats?.isDirectory() && stats.uid === process.geteuid?.()) yield { name };
  }
}
