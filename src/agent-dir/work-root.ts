/** Where leased work really is, and how pi and its children learn of it (W1). */
import { readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { hasCode, OperationError } from '../lib/errors.ts';
import { FileError } from '../lib/file-error.ts';
import { type AgentDir, PI_VARIABLE } from './agent-directory.ts';
import { workDir } from './places.ts';

const MAX_LINKS = 40;

/**
 * The work root, absolute and resolved: links up to and including `work` itself are followed, whether or not what they
 * lead to is there yet (W1, S5). Makes nothing.
 *
 * @throws FileError when the file system refuses, or links lead on without end
 */
export function resolveWorkRoot(agentDir: AgentDir): string {
  const path = workDir(agentDir);
  try {
    return settled(path, 0);
  } catch (error) {
    throw new FileError('resolve', path, error);
  }
}

/** Of a path whose end is not there yet: the real path of what is there, and the rest as it is spelled. */
function settled(path: string, links: number): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT') || dirname(path) === path) throw error;
  }
  const parent = settled(dirname(path), links);
  const here = join(parent, basename(path));
  const target = linkTarget(here);
  if (target === undefined) return here;
  if (links === MAX_LINKS) throw new OperationError('too many links lead on from it');
  return settled(resolve(parent, target), links + 1);
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'EINVAL')) return undefined;
    throw error;
  }
}

/**
 * What every pi that we start, and so every child of it, finds in its environment (W1): the agent directory by the
 * name that pi reads, and the resolved work root.
 *
 * @throws FileError as {@link resolveWorkRoot}
 */
export function piEnvironment(agentDir: AgentDir): { PI_CODING_AGENT_DIR: string; PI_WORK_ROOT: string } {
  return { [PI_VARIABLE]: agentDir, PI_WORK_ROOT: resolveWorkRoot(agentDir) };
}
