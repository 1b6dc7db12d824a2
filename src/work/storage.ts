/** Storage of pi extensions: one namespace each, and no lease that outlives the extension (W3). */
import { acquireRun } from './acquire.ts';
import { NamespaceTakenError, StorageReleasedError } from './errors.ts';
import type { HeldRun } from './held-run.ts';
import { workSegment } from './names.ts';
import { retentionOf } from './retention.ts';
import type { ExtensionStorage, StorageOwner, WorkNeeds } from './types.ts';

/** The category of all extensions' work; the namespace is the tenant. */
const CATEGORY = 'extensions';

interface Claim {
  /** Undefined for whoever did not say who it is. */
  readonly owner: StorageOwner | undefined;
  readonly storage: ExtensionStorage;
  releaseNow(): void;
}

interface Storages {
  /** By work root and namespace. */
  readonly claims: Map<string, Claim>;
  /** Ends every claim: the extension in the image calls it when pi unloads its extensions. */
  releaseAll(): void;
}

declare global {
  // On the process and not on the module: each extension brings its own copy of this. The number changes with the
  // shape.
  var piSandboxStorage1: Storages | undefined;
}

function storages(): Storages {
  if (globalThis.piSandboxStorage1) return globalThis.piSandboxStorage1;
  const claims = new Map<string, Claim>();
  const releaseAll = (): void => {
    for (const claim of claims.values()) claim.releaseNow();
  };
  globalThis.piSandboxStorage1 = { claims, releaseAll };
  process.once('exit', releaseAll);
  return globalThis.piSandboxStorage1;
}

export interface StoragePlaces {
  /** The work root's real path. */
  readonly root: string;
  readonly stateDir: string;
  readonly cacheDir: string;
}

/**
 * Claims a namespace of this process. The owner that has it gets the same storage again.
 *
 * @param places for that namespace
 * @throws InvalidWorkNameError, NamespaceTakenError
 */
export function claimStorage(
  namespace: string,
  places: (namespace: string) => StoragePlaces,
  owner: StorageOwner | undefined,
  needs: WorkNeeds = {},
): ExtensionStorage {
  const tenant = workSegment('namespace', namespace);
  const { root, stateDir, cacheDir } = places(tenant);
  const { claims } = storages();
  const key = JSON.stringify([root, tenant]);
  const known = claims.get(key);
  if (known && owner !== undefined && known.owner === owner) return known.storage;
  if (known) throw new NamespaceTakenError(namespace);
  const held = new Set<HeldRun>();
  const claim: Claim = {
    owner,
    storage: { stateDir, cacheDir, acquireWorkRun, release: async () => claim.releaseNow() },
    releaseNow() {
      if (claims.get(key) === claim) claims.delete(key);
      for (const run of held) letGo(run);
      held.clear();
    },
  };
  async function acquireWorkRun({
    runId,
    retention,
  }: Parameters<ExtensionStorage['acquireWorkRun']>[0] = {}) {
    const isClaimed = (): boolean => claims.get(key) === claim;
    if (!isClaimed()) throw new StorageReleasedError(namespace);
    const limits = retention && retentionOf(retention, { beyond: 'lower' });
    const run = await acquireRun(root, { category: CATEGORY, tenant, runId, retention: limits }, needs);
    if (!isClaimed()) {
      run.releaseNow();
      throw new StorageReleasedError(namespace);
    }
    // Of a pi that runs for days nothing else would take away those that were released.
    for (const one of held) if (!one.isHeld()) held.delete(one);
    held.add(run);
    return run;
  }
  claims.set(key, claim);
  owner?.on('session_shutdown', () => {
    claim.releaseNow();
    return undefined;
  });
  return claim.storage;
}

/** One that cannot be let go in an orderly way keeps no other from it; its lock goes with the process at the latest. */
function letGo(run: HeldRun): void {
  try {
    run.releaseNow();
  } catch {
    // Its directory is gone or closed to us: there is nothing to be said to anybody any more.
  }
}
