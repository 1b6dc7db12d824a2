/** The agent directory of a plain pi, as it is found on this machine: what there is to take over (S15). Only read. */
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AgentDir,
  agentDirAt,
  agentDirFrom,
  getAgentDir,
  rootEntry,
  SHARED_AGENT_NAMES,
  sessionsDir,
} from '../../../agent-dir/index.ts';
import type { SessionSource } from '../../../history/index.ts';
import { entriesOf, statChild } from '../../../lib/directory-entries.ts';
import { type DirectoryHandle, openDirectory } from '../../../lib/directory-handle.ts';
import { ConfigError, hasCode, messageOf, UsageError } from '../../../lib/errors.ts';
import { type Environment, parseObject } from '../../config/index.ts';
import { CONFIGURATION, type ConfigFile, collectConfig, type LeftFile } from './config-files.ts';

export interface PlainPi {
  /** Without links. */
  readonly path: AgentDir;
  readonly directory: DirectoryHandle;
  readonly owner: { uid: number; gid: number };
}

/** Files that say themselves what is to become of them; nobody misses a note about these. */
const KNOWN = ['sessions', 'mcp-auth.json', ...SHARED_AGENT_NAMES, ...CONFIGURATION];
const FLEETING = [
  'bin',
  'tmp',
  'models-store.json',
  'mcp.log',
  'mcp.log.1',
  'crashes.json',
  'pi-debug.log',
  'npm',
  'git',
];
const MAX_OTHERS = 100;

/** `--from`, else where the environment says that it is (W1). */
export function agentDirectoryOf(given: string | undefined, env: Environment, home: string): AgentDir {
  const cwd = process.cwd();
  return given === undefined ? getAgentDir({ env, home, cwd }) : agentDirFrom(given, { home, cwd });
}

/** @throws UsageError when there is none */
export function openPlainPi(path: string): PlainPi {
  try {
    const real = realpathSync(path);
    const directory = openDirectory(real);
    const { uid, gid } = statChild(directory, '.') ?? { uid: 0, gid: 0 };
    return { path: agentDirAt(real), directory, owner: { uid, gid } };
  } catch (error) {
    const reason = hasCode(error, 'ENOENT') ? 'it does not exist' : messageOf(error);
    throw new UsageError(`${path} is no agent directory of pi: ${reason}`, {
      hint: '--from names another one',
    });
  }
}

export interface FoundConfig {
  readonly files: readonly ConfigFile[];
  readonly left: readonly LeftFile[];
  readonly notes: readonly string[];
  /** Where its settings put Sessions. */
  readonly sessionDir: string | undefined;
}

const JSON_FILES = ['settings.json', 'models.json', 'mcp.json', 'keybindings.json'];

/** The configuration, as a sandbox can take it: with a file that is not valid nothing would start (S8). */
export function configOf({ directory, path }: PlainPi): FoundConfig {
  const { files, left } = collectConfig(directory);
  const notes: string[] = [];
  let sessionDir: string | undefined;
  const taken: ConfigFile[] = [];
  for (const file of files) {
    const name = file.path.join('/');
    try {
      const value = JSON_FILES.includes(name)
        ? parseObject(file.content.toString('utf8'), rootEntry(path, name), name === 'models.json')
        : {};
      if (name !== 'settings.json') taken.push(file);
      else {
        const { sessionDir: own, ...rest } = value;
        if (Array.isArray(value.packages) && value.packages.length > 0)
          notes.push(
            `${value.packages.length} package(s) of settings.json are installed by pi at the next start`,
          );
        if (own === undefined) taken.push(file);
        else {
          sessionDir = typeof own === 'string' ? own : undefined;
          notes.push(
            `sessionDir of settings.json is left out: in a sandbox each domain has its own place for Sessions`,
          );
          taken.push({ ...file, content: Buffer.from(`${JSON.stringify(rest, null, 2)}\n`) });
        }
      }
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      left.push({ file: name, reason: error.message });
    }
  }
  return { files: taken, left, notes, sessionDir };
}

/** Where its Sessions are: `sessions/`, and the place that its settings or the environment name. */
export function sessionSources(
  pi: PlainPi,
  sessionDir: string | undefined,
  { env, home, given }: { env: Environment; home: string; given: boolean },
): { sources: SessionSource[]; left: LeftFile[] } {
  const left: LeftFile[] = [];
  const sources = new Map<string, SessionSource>();
  const usual = statChild(pi.directory, 'sessions');
  if (usual?.isDirectory()) {
    const directory = sessionsDir(pi.path);
    sources.set(directory, { directory });
  } else if (usual !== undefined)
    left.push({ file: 'sessions', reason: 'it is a link or a file, which is not followed' });
  // What the environment says is of this user's pi, not of another directory that was named.
  const word = (given ? undefined : env.PI_CODING_AGENT_SESSION_DIR) || sessionDir;
  if (word === undefined) return { sources: [...sources.values()], left };
  const place = word.startsWith('~/') ? join(home, word.slice(2)) : word;
  try {
    if (!place.startsWith('/')) throw new UsageError('it is a different place in each project');
    const directory = realpathSync(place);
    sources.set(directory, { directory, flat: true });
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) left.push({ file: `sessionDir ${word}`, reason: messageOf(error) });
  }
  return { sources: [...sources.values()], left };
}

/** What else is there: it stays, and a word says so. */
export function othersIn({ directory }: PlainPi): string[] {
  const others: string[] = [];
  for (const { name } of entriesOf(directory)) {
    if (KNOWN.includes(name) || FLEETING.includes(name) || name.endsWith('.lock')) continue;
    if (others.length < MAX_OTHERS) others.push(name);
  }
  return others.sort();
}
