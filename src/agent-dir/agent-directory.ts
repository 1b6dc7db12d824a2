/**
 * Where pi's agent directory is, on this machine and for this environment (W1). Whatever lies in it has an accessor
 * in `places.ts`; nothing else in the code joins a path to it (W9, held by a test).
 */
import { isAbsolute, join, resolve } from 'node:path';
import { OperationError } from '../lib/errors.ts';

/** The absolute path of an agent directory. Made by {@link getAgentDir} and {@link agentDirAt} only. */
export type AgentDir = string & { readonly kind: 'AgentDir' };

/** What decides where the agent directory is: handed in, so that nothing depends on the process it runs in. */
export interface AgentDirSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The user's home directory, absolute. */
  readonly home: string;
  /** What a relative path is relative to. */
  readonly cwd: string;
}

/** Relocates the agent directory for everything of ours; goes before pi's own variable. */
const OWN_VARIABLE = 'PI_ADAPTATIVE_CODING_AGENT_DIR';
/** The one that pi itself reads. */
export const PI_VARIABLE = 'PI_CODING_AGENT_DIR';

/**
 * The agent directory of an environment: `PI_ADAPTATIVE_CODING_AGENT_DIR`, else `PI_CODING_AGENT_DIR`, else
 * `~/.pi/agent` (W1). A leading `~` is the home directory; an empty variable counts as none. Nothing is looked at on
 * disk.
 *
 * @throws OperationError when the home directory that it would have to use is not absolute
 */
export function getAgentDir(source: AgentDirSource): AgentDir {
  const { env } = source;
  return agentDirFrom(env[OWN_VARIABLE] || env[PI_VARIABLE] || '~/.pi/agent', source);
}

/** The agent directory that a word names, as {@link getAgentDir} reads its variables. */
export function agentDirFrom(word: string, { home, cwd }: Omit<AgentDirSource, 'env'>): AgentDir {
  if (word === '~') return agentDirAt(home);
  return agentDirAt(word.startsWith('~/') ? join(home, word.slice(2)) : resolve(cwd, word));
}

/**
 * Takes a path for an agent directory's.
 *
 * @throws OperationError when it is not absolute
 */
export function agentDirAt(path: string): AgentDir {
  // Spelled one way, so that two paths of one directory can be compared.
  const clean = path.replace(/(?<=.)\/+$/, '');
  if (isAgentDir(clean)) return clean;
  throw new OperationError(`"${path}" is no agent directory: the path is not absolute`);
}

function isAgentDir(path: string): path is AgentDir {
  return isAbsolute(path);
}
