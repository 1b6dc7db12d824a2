export {
  type AgentDir,
  type AgentDirSource,
  agentDirAt,
  agentDirFrom,
  getAgentDir,
} from './agent-directory.ts';
export * from './layout.ts';
export * from './places.ts';
export * from './work-root.ts';
