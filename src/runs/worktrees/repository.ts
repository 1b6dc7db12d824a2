/** The repository that a step's directory lies in, as git tells of it (R5). */
import { realpath } from 'node:fs/promises';
import { relative } from 'node:path';
import { hasCode } from '../../lib/errors.ts';
import { FileError } from '../../lib/file-error.ts';
import { RunError } from '../errors.ts';
import { type Git, succeed } from './git.ts';

const HINT =
  'worktree: true needs a git repository that has a commit; without it the step works in the directory itself';

export interface Base {
  /** Top of the tree that the directory lies in, real. */
  readonly repoRoot: string;
  readonly baseCommit: string;
}

/** @throws RunError `failed` where there is none, or a bare one, or one without a commit */
export async function baseOf(git: Git, from: string): Promise<Base> {
  const cwd = await realDirectory(from);
  const top = await git(['rev-parse', '--show-toplevel'], { cwd });
  if (top.code !== 0)
    throw new RunError('failed', `${from} can have no worktree: ${top.complaint}`, { hint: HINT });
  const head = await git(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], { cwd });
  if (head.code !== 0)
    throw new RunError('failed', `${from} can have no worktree: its repository has no commit yet`, {
      hint: HINT,
    });
  return { repoRoot: lineOf(top.stdout), baseCommit: lineOf(head.stdout) };
}

/** The way from the top of its repository to a directory; empty for the top. */
export async function wayTo(repoRoot: string, from: string): Promise<string> {
  return relative(repoRoot, await realDirectory(from));
}

/** What all worktrees of a repository share. */
export interface Common {
  /** Undefined where there is no repository any more, or git cannot look into it. */
  readonly common: string | undefined;
  /** Why git cannot: that is no proof that it has gone. */
  readonly trouble: string | undefined;
}

const GONE: Common = { common: undefined, trouble: undefined };

export async function commonDirectory(git: Git, repoRoot: string): Promise<Common> {
  let cwd: string;
  try {
    cwd = await realpath(repoRoot);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return GONE;
    throw new FileError('look at', repoRoot, error);
  }
  const top = await git(['rev-parse', '--show-toplevel'], { cwd });
  if (top.code !== 0)
    return top.complaint.startsWith('not a git repository') ? GONE : { ...GONE, trouble: top.complaint };
  // A repository further up is another one.
  if (lineOf(top.stdout) !== cwd) return GONE;
  const words = ['rev-parse', '--path-format=absolute', '--git-common-dir'];
  const common = await realpath(lineOf(await succeed(git, `look into ${repoRoot}`, words, { cwd })));
  return { common, trouble: undefined };
}

/** The commit that something names; undefined where there is none. */
export async function commitOf(git: Git, gitDirectory: string, name: string): Promise<string | undefined> {
  const words = ['--git-dir', gitDirectory, 'rev-parse', '--verify', '--quiet', `${name}^{commit}`];
  const { code, stdout } = await git(words, { cwd: gitDirectory });
  return code === 0 ? lineOf(stdout) : undefined;
}

async function realDirectory(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    throw new FileError('look at', path, error);
  }
}

/** A path may itself have line ends. */
export function lineOf(output: Buffer): string {
  return output.toString('utf8').replace(/\n$/, '');
}
