/** Where everything of the jobs lies (J1, J2, J8, J9). Paths only; nothing is looked at on disk. */
import { createHash } from 'node:crypto';
import { isAbsolute, join } from 'node:path';
import { type AgentDir, getAgentDir, jobSessionsDir } from '../agent-dir/index.ts';
import type { JobName, ProjectFolder } from './names.ts';

/** The directories of one environment. */
export interface JobsPlace {
  /** `$XDG_STATE_HOME/pi-multi-agent`. */
  readonly state: string;
  readonly agentDir: AgentDir;
}

/** A job's directory, absolute. Made by {@link jobDirectory} only. */
export type JobDirectory = string;

/** `XDG_STATE_HOME` counts only when it is absolute, as its specification has it. */
export function jobsPlace(env: NodeJS.ProcessEnv, home: string): JobsPlace {
  const { XDG_STATE_HOME: given } = env;
  const stateHome = given !== undefined && isAbsolute(given) ? given : join(home, '.local', 'state');
  return { state: join(stateHome, 'pi-multi-agent'), agentDir: getAgentDir({ env, home, cwd: home }) };
}

export function projectDirectory({ state }: JobsPlace, project: ProjectFolder): string {
  return join(state, project);
}

/** Holds a directory for each job of one project, and of every other project of the same folder name. */
export function jobsDirectory(place: JobsPlace, project: ProjectFolder): string {
  return join(projectDirectory(place, project), 'jobs');
}

export function jobDirectory(place: JobsPlace, project: ProjectFolder, name: JobName): JobDirectory {
  return join(jobsDirectory(place, project), name);
}

/** Kernel locks `<n>`, one for each job that may run at once at this depth (J8). */
export function slotsDirectory(place: JobsPlace, project: ProjectFolder, depth: number): string {
  return join(projectDirectory(place, project), 'slots', String(depth));
}

/** Every job that was removed (rule 3). */
export function deletionLog({ state }: JobsPlace): string {
  return join(state, 'deletions.log');
}

/** Held by the one command that removes jobs. */
export function removalLock({ state }: JobsPlace): string {
  return join(state, 'removal.lock');
}

/** All sockets of all projects, 0700 (J9). */
export function socketDirectory({ state }: JobsPlace): string {
  return join(state, 'sockets');
}

/** A job's socket in that directory: short, however long the job's own path is. */
export function socketName(job: JobDirectory): string {
  return `${createHash('sha256').update(job).digest('hex').slice(0, 16)}.sock`;
}

/** Conversations of jobs, apart from the Sessions of people (J4). */
export function conversationDirectory({ agentDir }: JobsPlace, project: ProjectFolder): string {
  return jobSessionsDir(agentDir, project);
}
