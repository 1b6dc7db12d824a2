/** Directories of skills, prompts, themes and extensions in the user's configuration, read whole and bounded (S8). */
import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError, hasCode, messageOf } from '../../lib/errors.ts';
import { readOwnFile } from './own-file.ts';

/** One file of the merged configuration; `path` is where it goes in the tar. */
export interface MergedFile {
  readonly path: string;
  readonly content: Buffer;
  readonly executable: boolean;
  /** The host file it came from, or several joined with ", ". */
  readonly from: string;
}

/** What one merge may read in all (rule 7). */
export interface ReadBudget {
  bytes: number;
  entries: number;
}

export const MAX_FILE = 1024 * 1024;
const MAX_DEPTH = 24;
export const newBudget = (): ReadBudget => ({ bytes: 32 * 1024 * 1024, entries: 8_192 });

/** Reads one file against the budget. */
export async function readCounted(
  path: string,
  to: string,
  budget: ReadBudget,
): Promise<MergedFile | undefined> {
  const file = await readOwnFile(path, MAX_FILE);
  if (file === undefined) return undefined;
  countBytes(budget, file.content.length, path);
  return { path: to, content: file.content, executable: file.executable, from: path };
}

export function countBytes(budget: ReadBudget, bytes: number, path: string): void {
  budget.bytes -= bytes;
  if (budget.bytes < 0) {
    throw new ConfigError(
      path,
      'with this file the session configuration is larger than 32 MiB, the limit for all of it',
    );
  }
}

/** The names in a directory, sorted; none where there is no directory. */
export async function namesIn(directory: string, budget: ReadBudget): Promise<string[]> {
  try {
    const names = await readdir(directory);
    budget.entries -= names.length;
    if (budget.entries < 0) {
      throw new ConfigError(
        directory,
        'with this directory the session configuration has more than 8192 entries, the limit',
        {
          hint: 'leave out what a session does not need, such as node_modules of development tools',
        },
      );
    }
    return names.sort();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(directory, `cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

/** Every file at or below `path`. Symlinks are followed; a loop of them, and depth, are refused. */
export async function readTree(
  path: string,
  to: string,
  budget: ReadBudget,
  above: readonly string[] = [],
): Promise<MergedFile[]> {
  const facts = await stat(path).catch((error: unknown) => {
    throw new ConfigError(path, `cannot be read: ${messageOf(error)}`, { cause: error });
  });
  if (!facts.isDirectory()) {
    const file = await readCounted(path, to, budget);
    return file === undefined ? [] : [file];
  }
  const real = await realpath(path);
  if (above.includes(real)) throw new ConfigError(path, 'is a symlink to a directory that contains it');
  if (above.length >= MAX_DEPTH)
    throw new ConfigError(path, `is nested deeper than ${MAX_DEPTH} directories`);
  const files: MergedFile[] = [];
  for (const name of await namesIn(path, budget)) {
    // A cloned skill's repository is its working files; the history would only fill the sandbox's memory.
    if (name === '.git') continue;
    files.push(...(await readTree(join(path, name), `${to}/${name}`, budget, [...above, real])));
  }
  return files;
}
