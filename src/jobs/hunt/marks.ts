/** By which variables processes are told apart (J4). */

/** Set to the job's directory: only for its own pi, and so for everything that this starts. */
export const JOB_VARIABLE = 'MULTI_AGENT_JOB';
/** Set for what goes on without its starter: it, and what it starts, is no part of the job that it was started in. */
export const DETACHED_VARIABLE = 'MULTI_AGENT_DETACHED';
/** How deep in jobs an agent is (J8). */
export const DEPTH_VARIABLE = 'MULTI_AGENT_DEPTH';

/** The environment of a detached process of ours: a runner, the owner of a graph, a host, a daemon (J4). */
export function detachedEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { [JOB_VARIABLE]: _job, ...others } = env;
  return { ...others, [DETACHED_VARIABLE]: '1' };
}
