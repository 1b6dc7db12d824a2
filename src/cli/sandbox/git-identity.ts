/**
 * As whom git commits (S10): what the user's own git configuration says for this project, read by the user's git and
 * handed into the sandbox as its system-wide configuration, which any other level there goes before.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { hasCode } from '../../lib/errors.ts';

/** git answers in milliseconds; one that does not is not waited for. */
const GIT_MS = 3_000;
const MAX_OUTPUT = 1024 * 1024;
const MAX_KEY_BYTES = 16 * 1024;
/** A condition may include a file with conditions of its own; more levels than this are nobody's. */
const MAX_DEPTH = 5;

export interface GitIdentity {
  /** Git's names and values, such as `user.email`. */
  readonly values: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
}

export interface IdentityOptions {
  /** Canonical path, for conditions such as `includeIf "gitdir:~/work/"`. */
  readonly project: string;
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  /** The user's SSH agent is relayed, so commits can be signed with a key in it. */
  readonly canSign: boolean;
}

interface Entry {
  key: string;
  value: string;
  /** Absolute path of the file it is from. */
  file: string;
}

/**
 * Name, email and signing format of the user for this project; empty where there is no git, or nothing configured. Only
 * the user's own files are read: git is never run in the project, whose configuration can name programs (rule 8).
 */
export async function gitIdentity(options: IdentityOptions): Promise<GitIdentity> {
  const found = new Map<string, string>();
  try {
    await collect(await entriesOf(['--global'], options), options, found, 0);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return { values: {}, warnings: [] };
    return {
      values: {},
      warnings: ["git's own configuration could not be read: commits have no author yet"],
    };
  }
  return identityFrom(found, options);
}

/** Later entries win, and what a condition includes stands where the condition does, as in git itself. */
async function collect(
  entries: readonly Entry[],
  options: IdentityOptions,
  found: Map<string, string>,
  depth: number,
): Promise<void> {
  for (const { key, value, file } of entries) {
    const condition = /^includeif\.(.*)\.path$/s.exec(key)?.[1];
    if (condition === undefined) found.set(key, value);
    else if (depth < MAX_DEPTH && holds(condition, file, options)) {
      const included = expand(value, dirname(file), options.home);
      await collect(await entriesOf(['--file', included], options), options, found, depth + 1);
    }
  }
}

async function entriesOf(where: readonly string[], { env, home }: IdentityOptions): Promise<Entry[]> {
  const keys = '^(user\\.(name|email|signingkey)|gpg\\.format|(commit|tag)\\.gpgsign|includeif\\..*\\.path)$';
  const words = ['config', ...where, '--includes', '--show-origin', '-z', '--get-regexp', keys];
  const clean = Object.entries(env).filter(([name]) => !/^GIT_(DIR|WORK_TREE|CONFIG|CONFIG_.*)$/.test(name));
  let stdout: string;
  try {
    ({ stdout } = await promisify(execFile)('git', words, {
      // No repository: git must not read one's configuration on the way.
      cwd: '/',
      env: { ...Object.fromEntries(clean), HOME: home, GIT_CEILING_DIRECTORIES: '/', GIT_DIR: '/dev/null' },
      timeout: GIT_MS,
      maxBuffer: MAX_OUTPUT,
    }));
  } catch (error) {
    // Its way of saying that nothing matches, or that the file is not there.
    if (error instanceof Error && 'code' in error && error.code === 1) return [];
    throw error;
  }
  const parts = stdout.split('\0');
  const entries: Entry[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [origin = '', pair = ''] = [parts[at], parts[at + 1]];
    const line = pair.indexOf('\n');
    entries.push({
      key: line < 0 ? pair : pair.slice(0, line),
      value: line < 0 ? 'true' : pair.slice(line + 1),
      file: resolve(home, origin.replace(/^file:/, '')),
    });
  }
  return entries;
}

/** `gitdir:` and `gitdir/i:` as git matches them; other conditions depend on what only the repository knows. */
function holds(condition: string, file: string, { project, home }: IdentityOptions): boolean {
  const match = /^gitdir(\/i)?:(.*)$/s.exec(condition);
  if (match === null) return false;
  const [, ignoreCase, written = ''] = match;
  let pattern = expand(written, dirname(file), home, written.startsWith('./'));
  if (written.endsWith('/') && !pattern.endsWith('/')) pattern += '/';
  if (!isAbsolute(pattern)) pattern = `**/${pattern}`;
  if (pattern.endsWith('/')) pattern += '**';
  const source = pattern.replace(
    /\*\*\/|\*\*|\*|\?|[.+^${}()|[\]\\]/g,
    (token) => GLOB[token] ?? `\\${token}`,
  );
  return new RegExp(`^${source}$`, ignoreCase === undefined ? 's' : 'si').test(join(project, '.git'));
}

const GLOB: Readonly<Record<string, string>> = {
  '**/': '(?:.*/)?',
  '**': '.*',
  '*': '[^/]*',
  '?': '[^/]',
};

function expand(path: string, directory: string, home: string, relative = true): string {
  if (path === '~' || path.startsWith('~/')) return join(home, path.slice(1));
  return isAbsolute(path) || !relative ? path : resolve(directory, path);
}

async function identityFrom(
  found: ReadonlyMap<string, string>,
  { home, canSign }: IdentityOptions,
): Promise<GitIdentity> {
  const values: Record<string, string> = {};
  for (const key of ['user.name', 'user.email', 'gpg.format']) {
    const value = found.get(key);
    if (value !== undefined) values[key] = value;
  }
  const key = found.get('user.signingkey');
  // A key of another format lies in a place that no sandbox sees.
  if (found.get('gpg.format') !== 'ssh' || key === undefined) return { values, warnings: [] };
  const inline = await publicKey(key, home);
  if (inline === undefined)
    return { values, warnings: [`user.signingkey names ${key}, whose public key cannot be read`] };
  values['user.signingkey'] = inline;
  // Without the agent every commit would fail.
  if (canSign)
    for (const name of ['commit.gpgsign', 'tag.gpgsign']) {
      const value = found.get(name);
      if (value !== undefined) values[name] = value;
    }
  return { values, warnings: [] };
}

/** The public key itself, since its file is not in the sandbox. Only what has the form of one is taken from a file. */
async function publicKey(key: string, home: string): Promise<string | undefined> {
  if (/^(key::|ssh-|ecdsa-|sk-)/.test(key)) return key;
  const path = expand(key, home, home);
  for (const candidate of path.endsWith('.pub') ? [path] : [`${path}.pub`, path]) {
    const text = await readFile(candidate, 'utf8').catch(() => '');
    const line = text.slice(0, MAX_KEY_BYTES).split('\n', 1)[0]?.trim() ?? '';
    if (/^(ssh-|ecdsa-|sk-)[\w@.-]+ [A-Za-z0-9+/=]+/.test(line)) return `key::${line}`;
  }
  return undefined;
}

/** The values as a git configuration file. */
export function gitConfigText(values: Readonly<Record<string, string>>): string {
  const sections = new Map<string, string[]>();
  for (const [key, value] of Object.entries(values)) {
    const [section = '', name = ''] = key.split('.');
    const quoted = value
      .replaceAll('\\', '\\\\')
      .replaceAll('"', '\\"')
      .replaceAll('\n', '\\n')
      .replaceAll('\t', '\\t');
    sections.set(section, [...(sections.get(section) ?? []), `\t${name} = "${quoted}"\n`]);
  }
  return [...sections].map(([section, lines]) => `[${section}]\n${lines.join('')}`).join('');
}
