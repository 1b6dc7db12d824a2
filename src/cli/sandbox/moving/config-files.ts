/**
 * The files that configure a pi, which lie in its agent directory as they lie in the global level of our configuration
 * (S8, S15). Below the directory that the user named no link is followed.
 */
import { closeSync, fstatSync, readFileSync } from 'node:fs';
import { CONFIG_DIRECTORIES, CONFIG_FILES, MERGED_FILES } from '../../../agent-dir/index.ts';
import { entriesOf, statChild } from '../../../lib/directory-entries.ts';
import {
  type DirectoryHandle,
  makeChildDirectory,
  openChildDirectory,
  openChildFile,
} from '../../../lib/directory-handle.ts';
import { LimitError, messageOf, PiSandboxError } from '../../../lib/errors.ts';
import { type PutOutcome, putNewFile } from './put-new-file.ts';

export const CONFIGURATION = [...MERGED_FILES, ...CONFIG_FILES, ...CONFIG_DIRECTORIES];

/** The bounds of a Session's whole merge: with more than this nothing would start. */
const MAX = { fileBytes: 1024 * 1024, bytes: 32 * 1024 * 1024, entries: 8_192, depth: 24 };

export interface ConfigFile {
  /** Below the agent directory. */
  readonly path: readonly string[];
  readonly content: Buffer;
  readonly mode: number;
}

export interface LeftFile {
  readonly file: string;
  readonly reason: string;
}

/** Every file of the configuration, whole; what is left out is named. */
export function collectConfig(top: DirectoryHandle): { files: ConfigFile[]; left: LeftFile[] } {
  const collecting = new Collecting();
  for (const name of CONFIGURATION) {
    const stats = statChild(top, name);
    if (stats === undefined) continue;
    const tree = CONFIG_DIRECTORIES.includes(name);
    if (stats.isSymbolicLink())
      collecting.leave([name], 'it is a link, which is not followed: copy what it leads to');
    else if (tree !== stats.isDirectory())
      collecting.leave([name], tree ? 'it is no directory' : 'it is no file');
    else if (tree) collecting.tree(top, [name]);
    else collecting.file(top, [name]);
  }
  return collecting;
}

class Collecting {
  readonly files: ConfigFile[] = [];
  readonly left: LeftFile[] = [];
  #bytes = 0;
  #entries = 0;

  leave(path: readonly string[], reason: string): void {
    this.left.push({ file: path.join('/'), reason });
  }

  file(parent: DirectoryHandle, path: readonly string[]): void {
    this.#take(path, () => {
      const { fd } = openChildFile(parent, path.at(-1) ?? '');
      try {
        const { size, mode } = fstatSync(fd);
        if (size > MAX.fileBytes) throw new LimitError('it is longer than the 1 MiB that a sandbox takes');
        if (this.#bytes + size > MAX.bytes) throw new LimitError('all of it together is more than 32 MiB');
        const content = readFileSync(fd);
        this.#bytes += content.length;
        this.files.push({ path, content, mode: mode & 0o755 });
      } finally {
        closeSync(fd);
      }
    });
  }

  tree(parent: DirectoryHandle, path: readonly string[]): void {
    this.#take(path, () => {
      if (path.length > MAX.depth) throw new LimitError(`it is deeper than ${MAX.depth} folders`);
      const directory = openChildDirectory(parent, path.at(-1) ?? '');
      try {
        for (const entry of entriesOf(directory)) {
          // A cloned skill's history is no part of it; a sandbox leaves it out as well.
          if (entry.name === '.git') continue;
          const inside = [...path, entry.name];
          if (++this.#entries > MAX.entries) throw new LimitError(`there are more than ${MAX.entries} files`);
          if (entry.isSymbolicLink()) this.leave(inside, 'it is a link, which is not followed');
          else if (entry.isDirectory()) this.tree(directory, inside);
          else this.file(directory, inside);
        }
      } finally {
        directory.close();
      }
    });
  }

  #take(path: readonly string[], work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!(error instanceof PiSandboxError)) throw error;
      this.leave(path, messageOf(error));
    }
  }
}

export type PutFile = { readonly file: string } & PutOutcome;

/** Puts them below `top`, each where there is none yet. */
export function putConfig(top: DirectoryHandle, files: readonly ConfigFile[]): PutFile[] {
  return files.map(({ path, content, mode }) => {
    const file = path.join('/');
    const opened: DirectoryHandle[] = [];
    try {
      for (const name of path.slice(0, -1)) {
        opened.push(makeChildDirectory(opened.at(-1) ?? top, name, 0o755));
      }
      return { file, ...putNewFile(opened.at(-1) ?? top, path.at(-1) ?? '', content, mode) };
    } catch (error) {
      if (!(error instanceof PiSandboxError) || ('code' in error && error.code === 'ENOSPC')) throw error;
      return { file, outcome: 'kept', reason: messageOf(error) };
    } finally {
      for (const directory of opened) directory.close();
    }
  });
}
