/** A walk through the store: every file with what it is and whose, each read as a stranger's (rule 8). */
import { closeSync, type Dirent, type Stats } from 'node:fs';
import { entriesOf, removeEmptyChild, statChild } from '../../lib/directory-entries.ts';
import {
  type DirectoryHandle,
  MountPointError,
  NotRegularFileError,
  openChildDirectory,
  openChildFile,
} from '../../lib/directory-handle.ts';
import { hasCode, LimitError, messageOf } from '../../lib/errors.ts';
import { readOpenSessionHeader } from '../../pi/index.ts';
import type { DomainTable } from '../../wire/index.ts';
import { domainOfCwd } from '../table.ts';
import type { Owner } from '../transfer/destination.ts';
import { isHidden, isOwn, SESSION_END } from './names.ts';
import { sealed } from './store.ts';

/** More are not looked at (rule 7). */
const MAX_FILES = 2_000_000;

/** A folder of the store, open while something of it is in work. */
export interface Folder {
  /** Undefined for the store itself. */
  readonly name: string | undefined;
  readonly directory: DirectoryHandle;
  /** Something of it was taken away: once it is empty it goes too. */
  thinned: boolean;
  /** Keeps it open until the returned function is called. */
  use(): () => void;
}

export interface FoundFile {
  readonly folder: Folder;
  readonly name: string;
  /** Below the store, for people. */
  readonly path: string;
  /** Foreign is also what is no regular file, and every folder below a folder. */
  readonly kind: 'session' | 'damaged' | 'foreign';
  readonly stats: Pick<Stats, 'size' | 'mtimeMs'>;
  /** Of a Session; undefined when it is no domain's. */
  readonly domain?: string | undefined;
  /** Of a Session: open for reading. Whoever takes the entry closes it. */
  readonly fd?: number;
  /** Why it could not be looked at. */
  readonly problem?: string;
  /** The system refused to let it be looked at, which may be otherwise the next time. */
  readonly refused?: boolean;
}

export interface WalkOptions {
  readonly seal: Owner;
  readonly table: DomainTable;
}

/**
 * Every file of the store and its folders, those of one folder together. Files may be removed meanwhile.
 *
 * @throws FileError, LimitError
 */
export function* walkStore(store: DirectoryHandle, options: WalkOptions): Generator<FoundFile> {
  const top: Folder = { name: undefined, directory: store, thinned: false, use: () => () => undefined };
  let files = 0;
  for (const entry of entriesOf(store)) {
    if (isOwn(entry.name)) continue;
    const found =
      isDirectory(store, entry) && !isHidden(entry.name)
        ? walkFolder(top, entry.name, options)
        : [look(top, entry, options)];
    for (const file of found) {
      yield file;
      files += 1;
      if (files >= MAX_FILES) throw new LimitError(`${store.path} holds more than ${MAX_FILES} files`);
    }
  }
}

function* walkFolder(top: Folder, name: string, options: WalkOptions): Generator<FoundFile> {
  let directory: DirectoryHandle;
  try {
    directory = sealed(openChildDirectory(top.directory, name), options.seal);
  } catch (error) {
    yield { ...other(top, name, 'foreign', messageOf(error)), refused: isRefusal(error) };
    return;
  }
  const folder = openFolder(top.directory, name, directory);
  const walked = folder.use();
  try {
    for (const entry of entriesOf(directory)) yield look(folder, entry, options);
  } finally {
    walked();
  }
}

function openFolder(store: DirectoryHandle, name: string, directory: DirectoryHandle): Folder {
  let users = 0;
  const folder: Folder = {
    name,
    directory,
    thinned: false,
    use() {
      users += 1;
      return () => {
        users -= 1;
        if (users > 0) return;
        directory.close();
        if (folder.thinned) removeEmptyChild(store, name);
      };
    },
  };
  return folder;
}

function look(folder: Folder, entry: Dirent, { table }: WalkOptions): FoundFile {
  const { name } = entry;
  if (isHidden(name) || !name.endsWith(SESSION_END) || isOther(entry)) return other(folder, name, 'foreign');
  let fd: number | undefined;
  try {
    const opened = openChildFile(folder.directory, name);
    fd = opened.fd;
    const header = readOpenSessionHeader(fd);
    const { stats } = opened;
    const path = pathIn(folder, name);
    if (header !== undefined)
      return { folder, name, path, kind: 'session', stats, fd, domain: domainOfCwd(table, header.cwd) };
    closeSync(fd);
    return { folder, name, path, kind: 'damaged', stats };
  } catch (error) {
    if (fd !== undefined) closeSync(fd);
    const regular = statChild(folder.directory, name)?.isFile() === true;
    const kind = regular ? 'damaged' : 'foreign';
    return { ...other(folder, name, kind, messageOf(error)), refused: isRefusal(error) };
  }
}

/** Not what is simply something else: a link, a device, another file system. */
function isRefusal(error: unknown): boolean {
  if (error instanceof NotRegularFileError || error instanceof MountPointError) return false;
  return !hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP');
}

function other(folder: Folder, name: string, kind: 'damaged' | 'foreign', problem?: string): FoundFile {
  const stats = statChild(folder.directory, name) ?? { size: 0, mtimeMs: Date.now() };
  const found: FoundFile = { folder, name, path: pathIn(folder, name), kind, stats };
  return problem === undefined ? found : { ...found, problem };
}

function pathIn({ name: folder }: Folder, name: string): string {
  return folder === undefined ? name : `${folder}/${name}`;
}

/** Known to be no file; some file systems don't say it with the name. */
function isOther(entry: Dirent): boolean {
  return entry.isDirectory() || entry.isSymbolicLink() || entry.isFIFO() || entry.isSocket();
}

function isDirectory(parent: DirectoryHandle, entry: Dirent): boolean {
  if (entry.isDirectory()) return true;
  return !entry.isFile() && !isOther(entry) && statChild(parent, entry.name)?.isDirectory() === true;
}
