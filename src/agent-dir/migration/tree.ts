/** Small steps on a tree, each from an open directory. */
import { entriesOf, removeEmptyChild, statChild, unlinkChild } from '../../lib/directory-entries.ts';
import { type DirectoryHandle, openChildDirectory } from '../../lib/directory-handle.ts';
import { OperationError } from '../../lib/errors.ts';

/** Files and directories only: whatever else turned up meanwhile stays, and with it what it lies in. */
export function removeTree(parent: DirectoryHandle, name: string): void {
  const facts = statChild(parent, name);
  if (facts === undefined) return;
  if (facts.isFile()) {
    unlinkChild(parent, name);
    return;
  }
  if (!facts.isDirectory()) throw new OperationError(`${name} is neither a file nor a directory`);
  inChild(parent, name, (directory) => {
    for (const entry of [...entriesOf(directory)]) removeTree(directory, entry.name);
  });
  if (!removeEmptyChild(parent, name)) throw new OperationError(`${name} does not become empty`);
}

export function inChild<T>(
  parent: DirectoryHandle,
  name: string,
  work: (directory: DirectoryHandle) => T,
): T {
  const directory = openChildDirectory(parent, name, { bindMounts: false });
  try {
    return work(directory);
  } finally {
    directory.close();
  }
}
