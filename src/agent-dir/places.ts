/**
 * Every place in an agent directory, by name (W9). What a name holds, and who may delete it, is in README.md: `cache/`
 * always may be, `state/` never.
 */
import { OperationError } from '../lib/errors.ts';
import type { AgentDir } from './agent-directory.ts';

/** Files at the root that somebody spells by name: pi's configuration and login, and what people and agents write. */
export const ROOT_FILES = [
  'auth.json',
  'settings.json',
  'models.json',
  'keybindings.json',
  'mcp.json',
  'mcp-auth.json',
  'trust.json',
  'AGENTS.md',
  'MEMORY.md',
  'USER.md',
  'SYSTEM.md',
  'APPEND_SYSTEM.md',
] as const;
export type RootFile = (typeof ROOT_FILES)[number];

/** A file at the root. */
export function rootFile(agentDir: AgentDir, name: RootFile): string {
  return `${agentDir}/${name}`;
}

/**
 * An entry at the root whose name is data: from a directory's listing, or from one of this room's own lists. For a name
 * that stands in the code there is an accessor.
 *
 * @throws OperationError when the name is not one component
 */
export function rootEntry(agentDir: AgentDir, name: string): string {
  return place(agentDir, [name]);
}

/** Durable state of machines: to delete it loses something. `stateDir(agentDir, 'extensions', 'x')` is one in it. */
export function stateDir(agentDir: AgentDir, ...below: string[]): string {
  return place(agentDir, ['state', ...below]);
}

/** A file below `state/`. */
export function stateFile(agentDir: AgentDir, ...below: [string, ...string[]]): string {
  return place(agentDir, ['state', ...below]);
}

/** What can be made again: always safe to delete. */
export function cacheDir(agentDir: AgentDir, ...below: string[]): string {
  return place(agentDir, ['cache', ...below]);
}

/** A file below `cache/`. */
export function cacheFile(agentDir: AgentDir, ...below: [string, ...string[]]): string {
  return place(agentDir, ['cache', ...below]);
}

/** Managed helper programs (`fd`, `rg`, …); pi puts it in front of its shell's `PATH`. */
export function binDir(agentDir: AgentDir): string {
  return place(agentDir, ['bin']);
}

/** The older name of {@link binDir}. */
export function getBinDir(agentDir: AgentDir): string {
  return binDir(agentDir);
}

/** Leased transient work, as its path is spelled; `resolveWorkRoot` says where it really is. */
export function workDir(agentDir: AgentDir): string {
  return place(agentDir, ['work']);
}

export function runtimesDir(agentDir: AgentDir): string {
  return place(agentDir, ['runtimes']);
}

export function modelsDir(agentDir: AgentDir): string {
  return place(agentDir, ['models']);
}

export function sessionsDir(agentDir: AgentDir): string {
  return place(agentDir, ['sessions']);
}

/** Conversations of jobs, one directory for a project (J4). */
export function jobSessionsDir(agentDir: AgentDir, project: string): string {
  return place(agentDir, ['multi-agent-sessions', project]);
}

/** Profiles of agents (J7). */
export function agentsDir(agentDir: AgentDir): string {
  return place(agentDir, ['agents']);
}

/** Where pi installs packages from npm. */
export function npmDir(agentDir: AgentDir): string {
  return place(agentDir, ['npm']);
}

/** Where pi clones packages to. */
export function gitDir(agentDir: AgentDir): string {
  return place(agentDir, ['git']);
}

export function worktreesDir(agentDir: AgentDir): string {
  return place(agentDir, ['worktrees']);
}

/** What has outgrown `USER.md`, part by part (W11). */
export function preferencesDir(agentDir: AgentDir, ...below: string[]): string {
  return place(agentDir, ['okf-memory', 'user-preferences', ...below]);
}

function place(agentDir: AgentDir, names: readonly string[]): string {
  for (const name of names) {
    if (name === '' || name === '.' || name === '..' || /[/\\\0]/.test(name)) {
      throw new OperationError(`${JSON.stringify(name)} is no name of an entry in ${agentDir}`);
    }
  }
  return [agentDir, ...names].join('/');
}
