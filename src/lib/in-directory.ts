/** Work on many entries of one directory, each named by its name alone. */
import { closeSync, constants, openSync } from 'node:fs';
import type { DirectoryHandle } from './directory-handle.ts';

/** The address of a child for a system call, as {@link DirectoryHandle.at} gives it. */
export type AddressOf = (name: string) => string;

/**
 * Runs `work` with the directory as that of the process, where a name alone is an address: through the descriptor each look
 * costs the kernel twice as much, which is most of the time of a walk. The directory is entered through its descriptor, so it is
 * the one that was opened. Synchronous, so no other code of ours runs there; file operations that are under way in other threads have absolute paths. Where a process cannot go there (a worker thread, a
 * directory that may only be read, a system without `/proc`), addresses are those of the handle.
 */
export function inDirectory<T>(directory: DirectoryHandle, work: (addressOf: AddressOf) => T): T {
  const back = directory.byPath ? undefined : enter(directory);
  if (back === undefined) return work((name) => directory.at(name));
  try {
    return work((name) => {
      // Checked by it, and then not needed.
      directory.at(name);
      return name;
    });
  } finally {
    // Through a descriptor too: where we were may have been moved or removed meanwhile.
    process.chdir(`/proc/self/fd/${back}`);
    closeSync(back);
  }
}

/** The directory that was left, open; undefined when it was not left. */
function enter(directory: DirectoryHandle): number | undefined {
  let back: number | undefined;
  try {
    back = openSync('.', constants.O_RDONLY | constants.O_DIRECTORY);
    process.chdir(directory.at('.'));
    return back;
  } catch {
    if (back !== undefined) closeSync(back);
    return undefined;
  }
}
