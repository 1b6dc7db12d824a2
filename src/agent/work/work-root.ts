/** Which work root a command works on: that of this environment's agent directory (W1). */
import { homedir } from 'node:os';
import { type AgentDir, getAgentDir, resolveWorkRoot } from '../../agent-dir/index.ts';

/** @throws OperationError, FileError */
export function workRoot(): string {
  return resolveWorkRoot(agentDir());
}

export function agentDir(): AgentDir {
  return getAgentDir({ env: process.env, home: homedir(), cwd: process.cwd() });
}
