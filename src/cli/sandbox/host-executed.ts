import { createHash } from 'node:crypto';
import { lstat, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { readRegularFile } from '../../lib/bounded-read.ts';
import type { CanonicalPath } from '../config/index.ts';
import { gitConfigKeys } from './git-config.ts';
import { gitCommonDirectory } from './project-git.ts';
import { submoduleDirectories } from './submodules.ts';

/**
 * What a session could leave behind for programs on the host to execute (S17): git runs what its config and hooks
 * name, editors run tasks, direnv runs `.envrc`. Compared before and after a session, and named when it changed.
 */
export interface HostExecuted {
  readonly project: CanonicalPath;
  /** What it is -> a fingerprint of its content. */
  readonly entries: ReadonlyMap<string, string>;
}

const MAX_BYTES = 1024 * 1024;
const MAX_HOOKS = 200;

/** Files that an editor or shell integration executes when the project is opened. */
const FILES = [
  '.envrc',
  '.vscode/tasks.json',
  '.vscode/settings.json',
  '.vscode/launch.json',
  '.idea/workspace.xml',
];

/** Keys of git's configuration whose value is a program, or leads git to another configuration, program or directory. */
const GIT_KEYS =
  /^(core\.(hookspath|fsmonitor|worktree|sshcommand|editor|pager|askpass|gitproxy|alternaterefscommand)|alias\..*|filter\..*|diff\.external|diff\..*\.(command|textconv)|difftool\..*|mergetool\..*|merge\..*\.driver|gpg\..*|credential\..*|include\..*|includeif\..*|sequence\.editor|pager\..*|submodule\..*\.update|remote\..*\.(uploadpack|receivepack|vcs|proxy)|url\..*|uploadpack\..*|interactive\.difffilter|init\.templatedir|trailer\..*\.(command|cmd)|web\.browser|browser\..*|man\..*|instaweb\..*|sendemail\..*|extensions\..*|protocol\..*|lfs\..*|hook\..*|guitool\..*|tar\..*\.command|gc\.recentobjectshook|imap\.tunnel)$/s;

/** `ext::sh -c …`: an address that names the program which git runs for it, at whatever key. */
const HELPER_URL = /^"?\s*[a-z0-9+.-]+::/im;

export async function rememberHostExecuted(project: CanonicalPath): Promise<HostExecuted> {
  const common = await gitCommonDirectory(project);
  const git = common !== undefined && 'directory' in common ? common.directory : join(project, '.git');
  const [files, pointers, own, modules] = await Promise.all([
    Promise.all(FILES.map((file) => fingerprint(project, file))),
    pointerEntries(project, git),
    executedByGit(git, ''),
    moduleEntries(git),
  ]);
  return { project, entries: new Map([...files.flat(), ...pointers, ...own, ...modules]) };
}

/** One line for each thing that is new, changed or gone since. */
export async function changesSince(before: HostExecuted): Promise<string[]> {
  const after = await rememberHostExecuted(before.project);
  const names = new Set([...before.entries.keys(), ...after.entries.keys()]);
  return [...names]
    .filter((name) => before.entries.get(name) !== after.entries.get(name))
    .filter((name) => name !== '.git' || !isNewRepository(before, after))
    .sort();
}

/** `git init` alone makes git execute nothing, and what it could have written into the configuration is named by itself. */
function isNewRepository(before: HostExecuted, after: HostExecuted): boolean {
  return !before.entries.has('.git') && after.entries.get('.git')?.startsWith(DIRECTORY) === true;
}

/** A link, a pipe or a device is itself worth a word: only the fact counts, it is never followed or opened. */
async function fingerprint(directory: string, file: string): Promise<[string, string][]> {
  const path = join(directory, file);
  const facts = await lstat(path).catch(() => undefined);
  if (facts === undefined) return [];
  if (!facts.isFile()) return [[file, `not a regular file, mode ${facts.mode}, ${facts.ino}`]];
  const content = await readBounded(path, directory);
  // A hook or a script that is there already takes effect when it becomes executable.
  const executable = (facts.mode & 0o111) === 0 ? '' : ', executable';
  return [
    [file, content === undefined ? `unreadable, ${facts.size} bytes` : `${hash(content)}${executable}`],
  ];
}

const DIRECTORY = 'directory ';

/**
 * A `.git` file or link, and a `commondir`, lead git to a configuration and hooks that may lie anywhere. A directory is
 * known by its number: with the hooks in it mounted read-only, a session can still put another in its place.
 */
async function pointerEntries(project: string, git: string): Promise<[string, string][]> {
  const facts = await lstat(join(project, '.git')).catch(() => undefined);
  const pointer: [string, string][] = facts?.isDirectory()
    ? [['.git', `${DIRECTORY}${facts.ino}`]]
    : await fingerprint(project, '.git');
  const common = await fingerprint(git, 'commondir');
  return [...pointer, ...common.map(([file, print]): [string, string] => [`.git/${file}`, print])];
}

/** What the configuration and the hooks of one git directory name; `of` says which one it is. */
async function executedByGit(git: string, of: string): Promise<[string, string][]> {
  const [hooks, ...configs] = await Promise.all([
    hookEntries(git),
    ...['config', 'config.worktree'].map((file) => gitEntries(git, file)),
  ]);
  return [...configs.flat(), ...hooks].map(([name, print]) => [`${of}${name}`, print]);
}

/** Submodules have git directories of their own, which git on the host uses when it goes through them. */
async function moduleEntries(git: string): Promise<[string, string][]> {
  const { directories, all } = await submoduleDirectories(join(git, 'modules'));
  const entries = await Promise.all(
    directories.map((directory) => executedByGit(directory, `${relative(git, directory)}: `)),
  );
  return all ? entries.flat() : [...entries.flat(), ['more submodules than are looked at', 'yes']];
}

async function hookEntries(git: string): Promise<[string, string][]> {
  const hooks = join(git, 'hooks');
  const names = await readdir(hooks).catch(() => []);
  const counted = names.filter((name) => !name.endsWith('.sample')).slice(0, MAX_HOOKS);
  const entries = await Promise.all(counted.map((name) => fingerprint(hooks, name)));
  return entries.flat().map(([name, print]) => [`git hook ${name}`, print]);
}

async function gitEntries(git: string, file: string): Promise<[string, string][]> {
  const content = await readBounded(join(git, file), git);
  // Too long for us, or not to be read, is not that for git.
  if (content === undefined)
    return (await fingerprint(git, file)).map(([, print]) => [`.git/${file}`, print]);
  return gitConfigKeys(content.toString('utf8'))
    .filter(([key, value]) => GIT_KEYS.test(key) || HELPER_URL.test(value))
    .map(([key, value]) => [`git config ${key}`, value]);
}

async function readBounded(path: string, within: string): Promise<Buffer | undefined> {
  try {
    return await readRegularFile(path, { maxBytes: MAX_BYTES, within });
  } catch {
    return undefined;
  }
}

function hash(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
