/**
 * `pi-sandbox/work`: what the package exports to pi extensions and to programs (W3). Everything works in the agent
 * directory of the process's environment, as it is at the call: `PI_ADAPTATIVE_CODING_AGENT_DIR`, else
 * `PI_CODING_AGENT_DIR`, else `~/.pi/agent`.
 */
import { homedir } from 'node:os';
import { type AgentDir, cacheDir, getAgentDir, resolveWorkRoot, stateDir } from '../agent-dir/index.ts';
import { acquireRun } from './acquire.ts';
import { workSegment } from './names.ts';
import { processRun } from './process-runs.ts';
import { pruneTenant } from './prune.ts';
import { retentionOf } from './retention.ts';
import { claimStorage } from './storage.ts';
import type {
  ExtensionStorage,
  PruneReport,
  StorageOwner,
  WorkRetention,
  WorkRun,
  WorkRunRequest,
} from './types.ts';

export type { Bounded } from '../lib/bounded-list.ts';
export { FileError } from '../lib/file-error.ts';
export {
  NamespaceTakenError,
  RetentionError,
  StorageReleasedError,
  UnownedDirectoryError,
  WorkBusyError,
  WorkRunGoneError,
  WorkUnsupportedError,
} from './errors.ts';
export { InvalidWorkNameError } from './names.ts';
export { DEFAULT_RETENTION, RETENTION_CEILING } from './retention.ts';
export type {
  ExtensionStorage,
  PruneReport,
  ReleaseOptions,
  RemovalReason,
  RemovedRun,
  StorageOwner,
  WorkProblem,
  WorkRetention,
  WorkRun,
  WorkRunRequest,
} from './types.ts';

function agentDir(): AgentDir {
  return getAgentDir({ env: process.env, home: homedir(), cwd: process.cwd() });
}

/**
 * Leases a directory: a new one, or with `runId` the one of that name, which several processes can hold. Nothing removes
 * it until it is released or this process ends.
 *
 * @throws InvalidWorkNameError, RetentionError, UnownedDirectoryError, WorkBusyError, FileError
 */
export async function acquireWorkRun(request: WorkRunRequest): Promise<WorkRun> {
  return acquireRun(resolveWorkRoot(agentDir()), request);
}

/**
 * The same leased directory for all of this process, released when it ends.
 *
 * @throws as {@link acquireWorkRun}
 */
export async function getProcessWorkRun(request: WorkRunRequest): Promise<WorkRun> {
  return processRun(resolveWorkRoot(agentDir()), request);
}

/**
 * Applies a retention to one tenant: what nobody uses and is too old, too many or too large goes.
 *
 * @param retention what of it is not said is the default
 * @returns what was done, and what was found that is no run
 * @throws InvalidWorkNameError, RetentionError, WorkBusyError (others prune for half a minute now), FileError
 */
export async function pruneWorkTenant(
  category: string,
  tenant: string,
  retention: Partial<WorkRetention> = {},
): Promise<PruneReport> {
  const name = { category: workSegment('category', category), tenant: workSegment('tenant', tenant) };
  return pruneTenant(resolveWorkRoot(agentDir()), name, retentionOf(retention));
}

/**
 * What one extension has to itself: work runs below `work/extensions/<namespace>/`, and the paths of its
 * `state/extensions/<namespace>/` and `cache/extensions/<namespace>/`. Makes nothing. The namespace is the caller's in this
 * process until it is released: by `release()`, when pi unloads the extension, or with the process.
 *
 * @param owner the object that pi handed to the extension: with it the call can be repeated, and the storage is released
 *   on `session_shutdown`
 * @throws InvalidWorkNameError, NamespaceTakenError
 */
export function getStorage(namespace: string, owner?: StorageOwner): ExtensionStorage {
  const directory = agentDir();
  return claimStorage(
    namespace,
    (checked) => ({
      root: resolveWorkRoot(directory),
      stateDir: stateDir(directory, 'extensions', checked),
      cacheDir: cacheDir(directory, 'extensions', checked),
    }),
    owner,
  );
}
