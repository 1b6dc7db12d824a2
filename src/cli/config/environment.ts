/** What of the user's environment goes into a sandbox: nothing but what is listed (S10, S20). */
import type { Config, Environment } from './load.ts';

const PROXY = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'];
const TERMINAL = ['TERM', 'COLORTERM', 'LANG', 'NO_COLOR'];

export interface PassedEnvironment {
  /** For the container's own environment, which `docker inspect` shows: no secrets. */
  readonly container: Readonly<Record<string, string>>;
  /** For one process only, sent through the supervisor: keys, and proxies whose address holds a password. */
  readonly process: Readonly<Record<string, string>>;
}

/** The variables named by `PASS_ENV` that exist, and the proxy variables in both spellings. */
export function passedEnvironment(config: Config, env: Environment): PassedEnvironment {
  const container: Record<string, string> = {};
  const process: Record<string, string> = {};
  for (const name of PROXY) {
    // Programs differ in which spelling they read; curl reads only the lower-case http_proxy.
    const value = env[name] || env[name.toLowerCase()];
    if (!value) continue;
    const target = /^[^/]*\/\/[^/]*@|^[^/]*@/.test(value) ? process : container;
    target[name] = value;
    target[name.toLowerCase()] = value;
  }
  for (const name of config.PASS_ENV) {
    const value = env[name];
    if (value !== undefined) process[name] = value;
  }
  return { container, process };
}

/** The limits of jobs, for every program: each may start some (J8, J16). */
export function jobsEnvironment(config: Config, domain: string): Record<string, string> {
  const { maxCost, sessionsRetentionDays } = config.domains.find(({ id }) => id === domain) ?? {};
  return {
    MULTI_AGENT_MAX_RUNNING: String(config.MULTI_AGENT_MAX_RUNNING),
    MULTI_AGENT_MAX_DEPTH: String(config.MULTI_AGENT_MAX_DEPTH),
    ...(maxCost === undefined ? {} : { MULTI_AGENT_DAY_MAX_COST: String(maxCost) }),
    // For `multi-agent prune` (J14).
    ...(sessionsRetentionDays === undefined
      ? {}
      : { SESSIONS_RETENTION_DAYS: String(sessionsRetentionDays) }),
  };
}

/** What the user's terminal and locale tell programs, for one process. */
export function terminalEnvironment(env: Environment): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of TERMINAL) {
    const value = env[name];
    if (value) passed[name] = value;
  }
  // The image knows no locale of a country, and a program that is told one it does not know takes everything for ASCII.
  if (/utf-?8$/i.test(passed.LANG ?? '')) passed.LC_CTYPE = 'C.UTF-8';
  // A zone by file name means a file of the host.
  if (env.TZ && !/^[:/]/.test(env.TZ)) passed.TZ = env.TZ;
  return passed;
}
