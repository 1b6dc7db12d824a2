/** The folders that a change works in, opened by handle, and kept open while one batch goes through them. */
import { type DirectoryHandle, makeChildDirectory, openChildDirectory } from '../lib/directory-handle.ts';
import { OperationError } from '../lib/errors.ts';
import { TRASH_DIRECTORY } from '../pi/index.ts';
import type { Place } from './layout.ts';

type FolderOf = Omit<Place, 'name'>;
type Open = (parent: DirectoryHandle, name: string) => DirectoryHandle;

/** More than are ever used within each other; the one that was used longest ago is closed. */
const MOST_OPEN = 16;

export interface Folders {
  /**
   * The open folder of a place, valid until the next but one is asked for.
   *
   * @throws FileError, MountPointError
   */
  of(place: FolderOf): DirectoryHandle;
  /** As `of`, making the folders on the way. */
  made(place: FolderOf): DirectoryHandle;
  close(): void;
}

export function openFolders(root: DirectoryHandle): Folders {
  const opened = new Map<string, DirectoryHandle>();
  let closed = false;
  const find = (place: FolderOf, open: Open): DirectoryHandle => {
    if (closed) throw new OperationError('these folders were closed before');
    const names = namesOf(place);
    if (names.length === 0) return root;
    const key = names.join('/');
    const handle = opened.get(key) ?? openBelow(root, names, open);
    opened.delete(key);
    opened.set(key, handle);
    const [oldest] = opened;
    if (opened.size > MOST_OPEN && oldest) {
      opened.delete(oldest[0]);
      oldest[1].close();
    }
    return handle;
  };
  return {
    of: (place) => find(place, openChildDirectory),
    made: (place) => find(place, makeChildDirectory),
    close() {
      closed = true;
      for (const handle of opened.values()) handle.close();
      opened.clear();
    },
  };
}

/** Calls `work` with folders that are closed after it. */
export function withFolders<T>(root: DirectoryHandle, work: (folders: Folders) => T): T {
  const folders = openFolders(root);
  try {
    return work(folders);
  } finally {
    folders.close();
  }
}

/** Calls `work` with the open folder of a place. */
export function inFolder<T>(root: DirectoryHandle, place: FolderOf, work: (folder: DirectoryHandle) => T): T {
  return withFolders(root, (folders) => work(folders.of(place)));
}

function namesOf({ day, folder }: FolderOf): string[] {
  const names = day === undefined ? [] : [TRASH_DIRECTORY, day];
  return folder === undefined ? names : [...names, folder];
}

function openBelow(root: DirectoryHandle, names: readonly string[], open: Open): DirectoryHandle {
  let handle = root;
  for (const name of names) {
    try {
      const child = open(handle, name);
      if (handle !== root) handle.close();
      handle = child;
    } catch (error) {
      if (handle !== root) handle.close();
      throw error;
    }
  }
  return handle;
}
