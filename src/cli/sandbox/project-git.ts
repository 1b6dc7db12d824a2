/**
 * The git directories of a project that need a mount of their own (S17). All of it is read as files: git itself is
 * never run here, since a repository's config can name programs that git executes (rule 8).
 */
import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { readRegularFile } from '../../lib/bounded-read.ts';
import { hasCode, OperationError } from '../../lib/errors.ts';
import { CanonicalPath, isWithin, shown } from '../config/index.ts';

const MAX_POINTER = 16 * 1024;
const MAX_CONFIG = 256 * 1024;

/** A common git directory to mount too, or why the one that is named is not mounted. */
export type GitDirectory = { readonly directory: CanonicalPath } | { readonly refused: string };

/**
 * The git directory outside the project that a worktree's or submodule's `.git` file names, if it points back to
 * exactly this project: a planted `gitdir:` must not mount anything. Undefined when nothing outside is needed.
 */
export async function gitCommonDirectory(project: CanonicalPath): Promise<GitDirectory | undefined> {
  const pointer = await firstLine(join(project, '.git'), project);
  const named = pointer?.startsWith('gitdir:') ? pointer.slice('gitdir:'.length).trim() : undefined;
  if (!named) return undefined;
  const gitdir = await real(resolve(project, named));
  if (gitdir === undefined)
    return { refused: `${join(project, '.git')} names ${shown(named)}, which does not exist` };
  if (isWithin(gitdir, project)) return undefined;
  const directory = (await worktreeCommon(project, gitdir)) ?? (await submoduleDirectory(project, gitdir));
  if (directory !== undefined) return { directory };
  return {
    refused: `${join(project, '.git')} names ${shown(gitdir)}, which does not point back to this project`,
  };
}

/**
 * `<common>/worktrees/<name>` with a `gitdir` file that names the project's `.git`. The common directory is taken
 * from where that directory really lies; `commondir` must agree, since a session could have rewritten it.
 */
async function worktreeCommon(
  project: CanonicalPath,
  gitdir: CanonicalPath,
): Promise<CanonicalPath | undefined> {
  if (basename(dirname(gitdir)) !== 'worktrees') return undefined;
  const common = await real(dirname(dirname(gitdir)));
  const back = await firstLine(join(gitdir, 'gitdir'), gitdir);
  const stated = await firstLine(join(gitdir, 'commondir'), gitdir);
  if (common === undefined || !back || !stated) return undefined;
  const backTo = resolve(gitdir, back);
  const pointsBack = basename(backTo) === '.git' && (await real(dirname(backTo))) === project;
  const agrees = (await real(resolve(gitdir, stated))) === common;
  return pointsBack && agrees && (await isGitDirectory(common)) ? common : undefined;
}

/** A git directory whose config's `core.worktree` is the project: what `git submodule` makes. */
async function submoduleDirectory(
  project: CanonicalPath,
  gitdir: CanonicalPath,
): Promise<CanonicalPath | undefined> {
  const config = await readSafely(join(gitdir, 'config'), gitdir, MAX_CONFIG);
  const worktree = config === undefined ? undefined : coreWorktree(config);
  if (!worktree || (await real(resolve(gitdir, worktree))) !== project) return undefined;
  return (await isGitDirectory(gitdir)) ? gitdir : undefined;
}

function coreWorktree(config: string): string | undefined {
  let section = '';
  let found: string | undefined;
  for (const line of config.split('\n')) {
    section =
      /^\s*\[([^\]"]*)\]/.exec(line)?.[1]?.trim().toLowerCase() ?? (/^\s*\[/.test(line) ? '' : section);
    const value =
      section === 'core' ? /^\s*(?:\[[^\]]*\]\s*)?worktree\s*=\s*(.*)$/i.exec(line)?.[1] : undefined;
    if (value !== undefined)
      found = value
        .trim()
        .replace(/^"(.*)"$/, '$1')
        .replaceAll('\\\\', '\\')
        .replaceAll('\\"', '"');
  }
  return found;
}

async function isGitDirectory(path: string): Promise<boolean> {
  const kinds = await Promise.all(['HEAD', 'objects', 'refs'].map((name) => kindOf(join(path, name))));
  return kinds[0] === 'file' && kinds[1] === 'directory' && kinds[2] === 'directory';
}

/**
 * The hooks directory to mount read-only (`PROTECT_GIT`): that of `common` for a worktree, else the project's own.
 * Only a real directory: a link could make a mount of anything.
 */
export async function gitHooksDirectory(
  project: CanonicalPath,
  common?: CanonicalPath,
): Promise<CanonicalPath | undefined> {
  const git = common ?? join(project, '.git');
  if ((await kindOf(git)) !== 'directory') return undefined;
  const hooks = join(git, 'hooks');
  return (await kindOf(hooks)) === 'directory' ? CanonicalPath.safeParse(hooks).data : undefined;
}

async function kindOf(path: string): Promise<'file' | 'directory' | 'other' | undefined> {
  try {
    const facts = await lstat(path);
    if (facts.isFile()) return 'file';
    return facts.isDirectory() ? 'directory' : 'other';
  } catch {
    return undefined;
  }
}

async function real(path: string): Promise<CanonicalPath | undefined> {
  try {
    return CanonicalPath.safeParse(await realpath(path)).data;
  } catch {
    return undefined;
  }
}

async function firstLine(path: string, within: string): Promise<string | undefined> {
  return (await readSafely(path, within, MAX_POINTER))?.split(/\r?\n/, 1)[0]?.trim();
}

/** What cannot be read safely (a link out, a pipe, too long) is as good as not there: nothing gets mounted for it. */
async function readSafely(path: string, within: string, maxBytes: number): Promise<string | undefined> {
  if ((await kindOf(path)) !== 'file') return undefined;
  try {
    return (await readRegularFile(path, { maxBytes, within }))?.toString('utf8');
  } catch (error) {
    if (error instanceof OperationError || hasCode(error, 'EACCES')) return undefined;
    throw error;
  }
}
