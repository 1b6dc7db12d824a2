/** Who calls: whose project a command works on (J1), and as which agent, if it is one (J8). */
import { realpathSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { ConfigError, hasCode } from '../lib/errors.ts';
import { FileError } from '../lib/file-error.ts';
import { BrokenJobError, DepthLimitError } from './errors.ts';
import { logicalDirectory, type ProjectFolder, projectFolder } from './names.ts';
import type { JobDirectory } from './places.ts';
import { type JobRecord, readRecord } from './record.ts';

export interface JobProject {
  /** As its user spells it; the folder is made of this. */
  readonly directory: string;
  /** Whose job it is, says this one (J1). */
  readonly real: string;
  readonly folder: ProjectFolder;
}

/** A command's caller. */
export interface Caller {
  readonly project: JobProject;
  /** The agent that calls; undefined for a person. */
  readonly parent: { readonly directory: JobDirectory; readonly record: JobRecord } | undefined;
  /** Id of the pi Session that the command is called in, as pi tells its tools. */
  readonly session: string | null;
}

const DEFAULT_MAX_DEPTH = 2;

/** A directory that is gone is still the project of its jobs, by its name (J11). */
export function projectAt(directory: string): JobProject {
  return { directory, real: realPath(directory), folder: projectFolder(directory) };
}

function realPath(directory: string): string {
  try {
    return realpathSync(directory);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return directory;
    throw new FileError('find', directory, error);
  }
}

/**
 * The caller of a command. An agent's commands work on the project of its own job, wherever it works (J1); else
 * `PI_SANDBOX_PROJECT` counts, else the directory.
 *
 * @throws BrokenJobError when `MULTI_AGENT_JOB` names no job: then nobody knows whose child would be started
 */
export async function callerOf(env: NodeJS.ProcessEnv, cwd: string): Promise<Caller> {
  const session = env.PI_SESSION_ID || null;
  const directory = env.MULTI_AGENT_JOB;
  if (!directory) {
    const given = env.PI_SANDBOX_PROJECT;
    const project = given !== undefined && isAbsolute(given) ? given : logicalDirectory(env, cwd);
    return { project: projectAt(project), parent: undefined, session };
  }
  const facts = await readRecord(directory);
  if (facts.kind !== 'job') {
    const reason = facts.kind === 'broken' ? facts.reason : 'MULTI_AGENT_JOB names it, and it is gone';
    throw new BrokenJobError(directory, reason);
  }
  const { record } = facts;
  const project = {
    directory: record.project,
    real: record.realProject,
    folder: projectFolder(record.project),
  };
  return { project, parent: { directory, record }, session };
}

/**
 * Where a job that this caller starts stands among agents (J8). A person's job has depth 0, that of an agent one more
 * than its own. The limit is the lowest of the environment's, of what holds for the caller, and of the profile's.
 *
 * @throws DepthLimitError when the caller itself is at its limit; ConfigError
 */
export function placeBelow(
  { parent }: Pick<Caller, 'parent'>,
  env: NodeJS.ProcessEnv,
  profileMaxDepth: number | undefined,
): { depth: number; maxDepth: number; parentJob: JobDirectory | null } {
  const limit = Math.min(depthLimit(env), parent?.record.maxDepth ?? Number.POSITIVE_INFINITY);
  if (parent && parent.record.depth >= limit) throw new DepthLimitError(parent.record.depth, limit);
  return {
    depth: parent === undefined ? 0 : parent.record.depth + 1,
    maxDepth: Math.min(limit, profileMaxDepth ?? Number.POSITIVE_INFINITY),
    parentJob: parent?.directory ?? null,
  };
}

/** @throws ConfigError */
function depthLimit({ MULTI_AGENT_MAX_DEPTH: given }: NodeJS.ProcessEnv): number {
  if (given === undefined || given === '') return DEFAULT_MAX_DEPTH;
  if (/^\d{1,3}$/.test(given)) return Number(given);
  throw new ConfigError('MULTI_AGENT_MAX_DEPTH', `${JSON.stringify(given.slice(0, 100))} is no depth`);
}
