import { statSync } from 'node:fs';
import { pathsOf, TRUST_FILE, type Roots } from '../agent-dir/index.ts';
import type { Clock } from '../lib/clock.ts';
import { OperationError } from '../lib/errors.ts';
import { LinkKeeper } from './keeper/link-keeper.ts';
import { TrustSync } from './keeper/trust-sync.ts';
import { SandboxLog } from './sandbox-log.ts';
import { writeAccounts } from './setup/accounts.ts';
import { buildAgentDirectory } from './setup/agent-directory.ts';
import { buildHome } from './setup/home.ts';
import { type PublishedMerge, publishMerge } from './setup/merge.ts';
import { prepareSharedState } from './setup/shared-state.ts';

/** A volume belongs to another uid than the sandbox's: by mistake, or because nobody prepared it yet (S2). */
export class ForeignVolumeError extends OperationError {}

export interface User {
  uid: number;
  gid: number;
}

/**
 * What a sandbox has on disk and in memory once it is set up: links, home, merged configuration, log. Set up once per
 * container by the first start; each later start or shell replaces the merge (S8, S14).
 */
export class SandboxState {
  readonly roots: Roots;
  readonly log: SandboxLog;
  merge: PublishedMerge;
  private readonly keeper: LinkKeeper;
  private readonly trust: TrustSync;

  private constructor(roots: Roots, log: SandboxLog, merge: PublishedMerge, keeper: LinkKeeper, trust: TrustSync) {
    this.roots = roots;
    this.log = log;
    this.merge = merge;
    this.keeper = keeper;
    this.trust = trust;
  }

  /** The entrypoint's per-container part. Everything in it is a handful of file operations: it costs milliseconds. */
  static async setUp(roots: Roots, user: User, tar: Buffer, sha256: string, clock: Clock): Promise<SandboxState> {
    checkOwners(roots, user);
    writeAccounts(roots, user);
    const merge = await publishMerge(roots, tar, sha256);
    const { name, privatePackages, sharedLinks } = merge.config;
    const paths = pathsOf(roots);
    const [shared] = await Promise.all([prepareSharedState(roots, sharedLinks)]);
    const moved = [...shared.moved, ...buildHome(roots, sharedLinks)];
    const links = buildAgentDirectory(roots, { privatePackages });
    const log = new SandboxLog(paths.sandboxLogs, name, clock);
    for (const path of moved) log.write('moved-aside', { path });
    if (shared.skipped) log.write('shared-state-busy', { path: paths.sharedAgent });
    const keeper = new LinkKeeper(paths.agent, links, (event, link, detail) => log.write(event, { link, detail }));
    keeper.start();
    const trust = new TrustSync(`${paths.agent}/${TRUST_FILE}`, `${paths.sharedAgent}/${TRUST_FILE}`, (problem) =>
      log.write('trust-problem', { problem }),
    );
    await trust.start();
    return new SandboxState(roots, log, merge, keeper, trust);
  }

  /** The entrypoint's per-start part for a start that joins; true when running Sessions now use an older merge. */
  async replaceMerge(tar: Buffer, sha256: string): Promise<boolean> {
    if (sha256 === this.merge.sha256) return false;
    this.merge = await publishMerge(this.roots, tar, sha256);
    return true;
  }

  /** Puts away what still stands in the wrong place, before the container goes (S4). */
  async close(): Promise<void> {
    await Promise.all([this.keeper.stop(), this.trust.stop()]);
  }
}

/** The owner of a volume's root directory is the truth about whose it is (S2). */
function checkOwners(roots: Roots, user: User): void {
  for (const [volume, path] of Object.entries({ shared: roots.shared, domain: roots.domain, sessions: roots.sessions })) {
    const owner = statSync(path).uid;
    if (owner === user.uid) continue;
    throw new ForeignVolumeError(
      `the ${volume} volume at ${path} belongs to uid ${owner}, but this sandbox runs as uid ${user.uid}`,
      { hint: `pi-sandbox volumes chown ${user.uid}:${user.gid}` },
    );
  }
}
