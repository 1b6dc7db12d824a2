/** State files that are whole or absent, and the directories they lie in (rule 2). */
import {
  chmod,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readlink,
  realpath,
  rename,
  unlink,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { hasCode, OperationError } from './errors.ts';
import { FileError } from './file-error.ts';
import { type RandomSource, randomId } from './ids.ts';

const TEMPORARY = '.pi-sandbox-tmp-';
const MAX_LINKS = 40;

/** For a file of somebody else's making that takes another's place; see {@link isAtomicTemporary}. */
export function temporaryName(random?: RandomSource): string {
  return `${TEMPORARY}${randomId(16, random)}`;
}

export interface AtomicWriteOptions {
  /** Exactly this mode, whatever the umask. Default 0600. */
  mode?: number;
  random?: RandomSource;
  /**
   * False: a link is replaced itself, and so is a fifo or a device. For files that nobody but us makes a link of, where
   * others can write (rule 8). Default true.
   */
  follow?: boolean;
}

/** True for the name of a temporary file that a killed writer may have left: no state, free to be removed. */
export function isAtomicTemporary(name: string): boolean {
  return name.startsWith(TEMPORARY);
}

/**
 * Replaces or creates a file so that every reader, and whoever looks after a crash, finds the old content or the
 * new, whole. If `path` is a link, the file behind it is replaced (created, where there is none) and the link stays.
 *
 * @throws FileError; the old file is then as it was and no temporary file is left
 */
export async function writeFileAtomic(
  path: string,
  data: string | Uint8Array,
  { mode = 0o600, random, follow = true }: AtomicWriteOptions = {},
): Promise<void> {
  try {
    const target = follow ? await behindLinks(path) : path;
    const directory = dirname(target);
    const temporary = join(directory, temporaryName(random));
    await writeTemporary(temporary, data, mode);
    try {
      await rename(temporary, target);
    } catch (error) {
      await unlink(temporary);
      throw error;
    }
    await syncDirectory(directory);
  } catch (error) {
    throw new FileError('write', path, error);
  }
}

/** A new content that is on the disk and has not taken its place yet. */
export interface StagedFile {
  /** Needs no room any more. @throws FileError */
  commit(): Promise<void>;
  /** Never throws. */
  discard(): Promise<void>;
}

/**
 * The first half of {@link writeFileAtomic}, without following anything: for what is to be known to find room before
 * something else is given up for it.
 *
 * @throws FileError
 */
export async function stageFile(path: string, data: string | Uint8Array): Promise<StagedFile> {
  const temporary = join(dirname(path), temporaryName());
  try {
    await writeTemporary(temporary, data, 0o600);
  } catch (error) {
    throw new FileError('write', path, error);
  }
  return {
    async commit() {
      try {
        await rename(temporary, path);
        await syncDirectory(dirname(path));
      } catch (error) {
        throw new FileError('write', path, error);
      }
    },
    discard: () => unlink(temporary).catch(() => undefined),
  };
}

/** Follows the links of the last component only; the directories before it are the kernel's business. */
async function behindLinks(path: string): Promise<string> {
  let target = path;
  for (let links = 0; links <= MAX_LINKS; links++) {
    const directory = await realpath(dirname(target));
    const here = join(directory, basename(target));
    let link: string;
    try {
      link = await readlink(here);
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return here;
      if (!hasCode(error, 'EINVAL')) throw error;
      // A rename over a device or a socket would silently replace it.
      if (!(await lstat(here)).isFile()) throw new OperationError('it is not a regular file');
      return here;
    }
    // Not normalised: `a/../b` must go the kernel's way if `a` is a link, which realpath then does.
    target = link.startsWith('/') ? link : `${directory}/${link}`;
  }
  throw new OperationError('too many links lead on from it');
}

async function writeTemporary(path: string, data: string | Uint8Array, mode: number): Promise<void> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, 'wx', 0o600);
    await handle.chmod(mode);
    await handle.writeFile(data);
    await handle.sync();
    await handle.close();
  } catch (error) {
    if (handle) {
      await handle.close().catch(() => {});
      await unlink(path);
    }
    throw error;
  }
}

/** Makes a rename survive a power cut. File systems that cannot sync a directory say EINVAL. */
async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } catch (error) {
    if (!hasCode(error, 'EINVAL')) throw error;
  } finally {
    await handle.close();
  }
}

/**
 * Makes a directory and those above it that are missing, each 0700 whatever the umask. What exists stays as it is:
 * a volume's root or a user's directory is not ours to change.
 *
 * @throws FileError, also when something else stands there
 */
export async function makeStateDirectory(path: string): Promise<void> {
  try {
    await makeDirectory(path);
  } catch (error) {
    throw new FileError('make directory', path, error);
  }
}

/** Where the parent goes again meanwhile, or the file system takes no directories (`/proc`), it is tried so often. */
const MOST_ATTEMPTS = 3;

async function makeDirectory(path: string, attempt = 1): Promise<void> {
  try {
    await mkdir(path, 0o700);
  } catch (error) {
    if (hasCode(error, 'ENOENT') && dirname(path) !== path && attempt < MOST_ATTEMPTS) {
      await makeDirectory(dirname(path));
      return makeDirectory(path, attempt + 1);
    }
    if (hasCode(error, 'EEXIST')) {
      // A trailing slash follows a link, and refuses what is no directory.
      await lstat(`${path}/`);
      return;
    }
    throw error;
  }
  await chmod(path, 0o700);
}
