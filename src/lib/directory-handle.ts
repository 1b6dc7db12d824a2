/**
 * A directory that stays the same one whatever is done to its path. It is opened without following a link, and its
 * children are reached through the open directory only: one that is swapped for a link in the middle of a walk never
 * leads out of the tree (rules 3, 8), nor does something mounted below it.
 *
 * Node has no openat(2). On Linux `/proc/<pid>/fd/<n>/<name>` is the same thing; elsewhere the real path is used after
 * each look has found the directory's inode there, which leaves a moment in between.
 *
 * Everything here is synchronous: over 100,000 files one promise each costs more than the work. Callers give way to
 * the event loop between pieces of a walk.
 */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { hasCode, OperationError } from './errors.ts';
import { FileError } from './file-error.ts';

const OPEN_DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** A fifo or terminal in a file's place must not hang us or become ours. */
const OPEN_FILE = constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

export interface DirectoryHandle {
  /** As it was opened. For messages; a system call takes {@link DirectoryHandle.at}. */
  readonly path: string;
  readonly fd: number;
  readonly device: number;
  readonly inode: number;
  /** Bytes of the directory itself when it was opened: on most file systems they tell a small one from a large one. */
  readonly bytes: number;
  /**
   * The mount that it lies in, by the kernel's number: what tells a directory that is mounted elsewhere on its own file
   * system. Undefined where the system does not say (macOS, which knows no such mounts). Costs a look into `/proc`.
   */
  mount(): string | undefined;
  /** There is no way through the descriptor here: the path is verified before each use instead. */
  readonly byPath: boolean;
  /**
   * The address of a child for one system call, to be made now. The last component is not protected: the call itself
   * must not follow a link (`lstat`, `O_NOFOLLOW`, `rename`, `unlink`).
   *
   * @throws OperationError when the name is not one component, the handle is closed, or (without `/proc`) another
   *   directory stands at its path
   */
  at(name: string): string;
  /** A second call does nothing. */
  close(): void;
}

/** Another file system is mounted there: a walk ends before it. */
export class MountPointError extends OperationError {
  readonly path: string;

  constructor(path: string) {
    super(`${path} is another file system, or a part of this one, mounted there`);
    this.path = path;
  }
}

/** What lies there is not the regular file that was expected. */
export class NotRegularFileError extends OperationError {
  readonly path: string;

  constructor(path: string, reason = 'it is not a regular file') {
    super(`${path} is not opened: ${reason}`);
    this.path = path;
  }
}

/**
 * Opens the top of a tree. The directories above it are the caller's to trust; its last component must be no link.
 *
 * @param byPath as on a system without `/proc`, for tests
 * @throws FileError (`code` is ENOENT when missing, ENOTDIR or ELOOP for a file or a link)
 */
export function openDirectory(path: string, { byPath = false } = {}): DirectoryHandle {
  try {
    const fd = openSync(path, OPEN_DIRECTORY);
    return handleOf(fd, path, byPath ? undefined : throughDescriptor(fd), () => realpathSync(path));
  } catch (error) {
    throw new FileError('open directory', path, error);
  }
}

/**
 * Opens a directory in a directory.
 *
 * @param name as bytes where it is no text
 * @param acrossMounts also where another file system is mounted: for a place that the user may well have put on another
 *   disk, never for a walk that deletes
 * @param bindMounts also where another directory of the same file system is mounted; false for a walk that deletes
 * @throws FileError (`code` as for {@link openDirectory}), MountPointError
 */
export function openChildDirectory(
  parent: DirectoryHandle,
  name: string | Buffer,
  { acrossMounts = false, bindMounts = true } = {},
): DirectoryHandle {
  const path = join(parent.path, name.toString());
  let child: DirectoryHandle;
  try {
    const address = typeof name === 'string' ? parent.at(name) : rawAt(parent, name);
    const fd = openSync(address, OPEN_DIRECTORY);
    const descriptor = parent.byPath ? undefined : throughDescriptor(fd);
    child = handleOf(fd, path, descriptor, () => address.toString());
  } catch (error) {
    throw new FileError('open directory', path, error);
  }
  try {
    const isWithin = child.device === parent.device && (bindMounts || child.mount() === parent.mount());
    if (acrossMounts || isWithin) return child;
  } catch (error) {
    child.close();
    throw new FileError('open directory', path, error);
  }
  child.close();
  throw new MountPointError(path);
}

/** As {@link DirectoryHandle.at}, for a name of bytes that are no text, as a listing gave them. */
export function rawAt(parent: DirectoryHandle, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${parent.at('.')}/`), name]);
}

/**
 * As {@link openChildDirectory}, making it where it is missing.
 *
 * @throws FileError, MountPointError
 */
export function makeChildDirectory(parent: DirectoryHandle, name: string, mode = 0o700): DirectoryHandle {
  try {
    mkdirSync(parent.at(name), { mode });
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw new FileError('make directory', join(parent.path, name), error);
  }
  return openChildDirectory(parent, name);
}

/**
 * Opens a regular file of a directory; `flags` as for open(2), by default for reading. The caller closes `fd`.
 *
 * @param seen what a moment ago {@link statChild} gave, to spare that look
 * @throws FileError, NotRegularFileError (a link, a fifo, a device, swapped while it was opened), MountPointError
 */
export function openChildFile(
  parent: DirectoryHandle,
  name: string,
  flags: number = constants.O_RDONLY,
  mode = 0o600,
  seen?: Stats,
): { fd: number; stats: Stats } {
  const path = join(parent.path, name);
  try {
    const address = parent.at(name);
    // Before opening too: to open a device can already do something.
    const before = seen ?? lstatSync(address, { throwIfNoEntry: false });
    if (before && !before.isFile()) throw new NotRegularFileError(path);
    const fd = openSync(address, flags | OPEN_FILE, mode);
    const stats = fstatSync(fd);
    if (stats.isFile() && stats.dev === parent.device && (!before || before.ino === stats.ino))
      return { fd, stats };
    closeSync(fd);
    if (stats.isFile() && stats.dev !== parent.device) throw new MountPointError(path);
    throw new NotRegularFileError(path, 'it was replaced while it was opened');
  } catch (error) {
    if (error instanceof NotRegularFileError || error instanceof MountPointError) throw error;
    throw new FileError('open', path, error);
  }
}

function handleOf(
  fd: number,
  path: string,
  descriptor: string | undefined,
  realPath: () => string,
): DirectoryHandle {
  const { dev: device, ino: inode, size: bytes } = fstatSync(fd);
  const address = descriptor ?? realPath();
  const byPath = descriptor === undefined;
  let open = true;
  let mount: { id: string | undefined } | undefined;
  return {
    path,
    fd,
    device,
    inode,
    bytes,
    byPath,
    mount() {
      mount ??= { id: mountOf(fd) };
      return mount.id;
    },
    at(name) {
      if (!open) throw new OperationError(`${path} was closed before`);
      if (name === '' || name === '..' || name.includes('/')) {
        throw new OperationError(`"${name}" is no name of an entry of ${path}`);
      }
      if (byPath && !isSame(address, device, inode)) {
        throw new OperationError(`${path} was replaced by another directory`);
      }
      return `${address}/${name}`;
    },
    close() {
      // The number may be another file's by the second call.
      if (open) closeSync(fd);
      open = false;
    },
  };
}

const FACTS_BYTES = 512;

function mountOf(descriptor: number): string | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(`/proc/self/fdinfo/${descriptor}`, constants.O_RDONLY);
    const facts = Buffer.allocUnsafe(FACTS_BYTES);
    const text = facts.toString('latin1', 0, readSync(fd, facts, 0, FACTS_BYTES, 0));
    return /^mnt_id:\s*(\d+)$/m.exec(text)?.[1];
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** How this process reaches its descriptors by a path: asked once. `self` costs one link more for each call. */
let descriptors: string | false | undefined;

function throughDescriptor(fd: number): string | undefined {
  descriptors ??=
    [`/proc/${process.pid}/fd`, '/proc/self/fd'].find((directory) => leadsTo(`${directory}/${fd}`, fd)) ??
    false;
  return descriptors === false ? undefined : `${descriptors}/${fd}`;
}

function leadsTo(path: string, fd: number): boolean {
  const { dev, ino } = fstatSync(fd);
  return isSame(`${path}/.`, dev, ino);
}

function isSame(path: string, device: number, inode: number): boolean {
  const there = statSync(path, { throwIfNoEntry: false });
  return there !== undefined && there.dev === device && there.ino === inode;
}
