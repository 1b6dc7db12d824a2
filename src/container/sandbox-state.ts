import { readdirSync, statSync } from 'node:fs';
import {
  type Link,
  type LiveMark,
  pathsOf,
  type Roots,
  rootFile,
  sessionsDir,
  TRUST_FILE,
} from '../agent-dir/index.ts';
import { isLegacySettled } from '../history/index.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf, OperationError } from '../lib/errors.ts';
import { LinkKeeper } from './keeper/link-keeper.ts';
import { SharedPlaces } from './keeper/shared-places.ts';
import { TrustSync } from './keeper/trust-sync.ts';
import { SandboxLog } from './sandbox-log.ts';
import { writeAccounts } from './setup/accounts.ts';
import { buildAgentDirectory } from './setup/agent-directory.ts';
import { linkCompileCache } from './setup/compile-cache.ts';
import { buildFront } from './setup/front.ts';
import { buildHome } from './setup/home.ts';
import { type PublishedMerge, publishMerge, removeMerge } from './setup/merge.ts';
import { keepOthers } from './setup/other-files.ts';
import { enterSharedVolume } from './setup/shared-layout.ts';
import { prepareSharedState } from './setup/shared-state.ts';

/** A volume belongs to another uid than the sandbox's: by mistake, or because nobody prepared it yet (S2). */
export class ForeignVolumeError extends OperationError {}

export interface User {
  uid: number;
  gid: number;
}

/** Where a sandbox is set up, and for whom. */
export interface Place {
  roots: Roots;
  user: User;
  clock: Clock;
  /** The image's own files: `/opt/pi-sandbox`. */
  image: string;
}

/**
 * What a sandbox has on disk and in memory once it is set up: links, home, merged configuration, log. Set up once per
 * container by the first start; each later start or shell replaces the merge (S8, S14).
 */
export class SandboxState {
  readonly roots: Roots;
  readonly log: SandboxLog;
  private readonly place: Place;
  private readonly links: readonly Link[];
  private current: PublishedMerge;
  /** How many programs started with each merge and still run. */
  private readonly users = new Map<PublishedMerge, number>();
  private readonly keeper: LinkKeeper;
  private readonly trust: TrustSync;
  private readonly places: SharedPlaces;
  private readonly live: LiveMark | undefined;

  private constructor(
    place: Place,
    log: SandboxLog,
    merge: PublishedMerge,
    links: readonly Link[],
    keeper: LinkKeeper,
    trust: TrustSync,
    places: SharedPlaces,
    live: LiveMark | undefined,
  ) {
    this.place = place;
    this.roots = place.roots;
    this.links = links;
    this.log = log;
    this.current = merge;
    this.keeper = keeper;
    this.trust = trust;
    this.places = places;
    this.live = live;
  }

  /**
   * The entrypoint's per-container part. Everything in it is a handful of file operations: it costs milliseconds.
   * One that failed half way can be tried again.
   */
  static async setUp(
    place: Place,
    tar: Buffer,
    sha256: string,
    { oldHistoryTried = false, oldHistoryClosed = false } = {},
  ): Promise<SandboxState> {
    const { roots, user, clock, image } = place;
    checkOwners(roots, user);
    if (!oldHistoryClosed) checkOldHistory(roots);
    writeAccounts(roots, user);
    linkCompileCache(roots, image, user.uid);
    const merge = await publishMerge(roots, tar, sha256);
    checkMounts(merge.config.mounted);
    if (!oldHistoryTried) checkOldHistorySorted(roots, merge.config.oldHistory);
    const { name, privatePackages, sharedLinks } = merge.config;
    const paths = pathsOf(roots);
    const log = new SandboxLog(paths.sandboxLogs, name, clock);
    const problem = (text: string): void => log.write('setup-problem', { problem: text });
    await makeLinks(place, sharedLinks, log);
    const live = await enterSharedVolume(roots, (event, facts) => log.write(event, facts));
    const links = buildAgentDirectory(roots, { privatePackages }, problem);
    const keeper = new LinkKeeper(paths.agent, links, (event, link, detail) =>
      log.write(event, { link, detail }),
    );
    keeper.start();
    const [own, shared] = [rootFile(paths.agent, TRUST_FILE), rootFile(paths.sharedAgent, TRUST_FILE)];
    const trust = new TrustSync(own, shared, (text) => log.write('trust-problem', { problem: text }));
    await trust.start();
    const places = new SharedPlaces(roots, problem);
    places.start();
    return new SandboxState(place, log, merge, links, keeper, trust, places, live);
  }

  get merge(): PublishedMerge {
    return this.current;
  }

  /** The entrypoint's per-start part for a start that joins; true when running Sessions now use an older merge. */
  async replaceMerge(tar: Buffer, sha256: string): Promise<boolean> {
    const before = this.current;
    this.current = await publishMerge(this.roots, tar, sha256);
    if (!this.users.has(before)) removeMerge(before);
    // Beside the start, which needs none of them in its first moments: what somebody has broken since is mended (S14).
    void makeLinks(this.place, this.current.config.sharedLinks, this.log).catch((error: unknown) =>
      this.log.write('setup-problem', { problem: messageOf(error) }),
    );
    return sha256 !== before.sha256;
  }

  /** A program that starts now keeps its merge until it calls what this returns. */
  useMerge(): () => void {
    const merge = this.current;
    this.users.set(merge, (this.users.get(merge) ?? 0) + 1);
    return () => {
      const left = (this.users.get(merge) ?? 1) - 1;
      if (left > 0) return void this.users.set(merge, left);
      this.users.delete(merge);
      if (merge !== this.current) removeMerge(merge);
    };
  }

  /** Puts away what still stands in the wrong place, before the container goes (S4). */
  async close(): Promise<void> {
    this.places.stop();
    await Promise.all([this.keeper.stop(), this.trust.stop()]);
    const { kept, problems } = keepOthers(this.roots, this.links);
    for (const name of kept) this.log.write('kept-in-domain', { name });
    for (const problem of problems) this.log.write('not-kept', { problem });
    this.live?.release();
  }
}

/** Links of the shared volume, the home and `/home/pi`; made as often as one likes, each step only where it is needed. */
async function makeLinks(
  { roots, image }: Place,
  sharedLinks: readonly string[],
  log: SandboxLog,
): Promise<void> {
  for (const made of [
    await prepareSharedState(roots, sharedLinks),
    buildHome(roots, sharedLinks, `${image}/skel`),
    buildFront(roots, sharedLinks),
  ]) {
    for (const path of made.moved) log.write('moved-aside', { path });
    for (const problem of made.problems) log.write('setup-problem', { problem });
  }
}

/** The owner of a volume's root directory is the truth about whose it is (S2). */
function checkOwners(roots: Roots, user: User): void {
  const { shared, domain, sessions } = roots;
  for (const [volume, path] of Object.entries({ shared, domain, sessions })) {
    const owner = statSync(path).uid;
    if (owner === user.uid) continue;
    throw new ForeignVolumeError(
      `the ${volume} volume at ${path} belongs to uid ${owner}, but this sandbox runs as uid ${user.uid}`,
      { hint: `pi-sandbox volumes chown ${user.uid}:${user.gid}` },
    );
  }
}

/**
 * Until domains had volumes of their own, all history lay in the shared one. It is to be out of every sandbox's reach
 * (S12): where it is not yet, the volumes have not been prepared. Not asked once the host has closed it: what stands there
 * then is something else, and another domain could keep this one from starting for ever by putting it there (S3).
 */
function checkOldHistory(roots: Roots): void {
  const old = sessionsDir(pathsOf(roots).sharedAgent);
  let names: string[];
  try {
    names = readdirSync(old);
  } catch {
    return;
  }
  if (names.length === 0) return;
  throw new ForeignVolumeError(`history from before domains had their own can be read at ${old}`, {
    hint: 'it is put out of reach by the engine; start again, or move it away by hand',
  });
}

/** Before its first Session a domain gets its old ones: by the engine, which alone reaches them (S12). */
function checkOldHistorySorted({ sessions }: Roots, decisions: string | undefined): void {
  if (decisions === undefined || isLegacySettled(sessions, decisions)) return;
  throw new ForeignVolumeError('the history from before domains had their own has not been sorted yet');
}

/** Another sandbox may have exchanged a folder of the project between the host's look at it and the mount (S17). */
function checkMounts(mounted: PublishedMerge['config']['mounted']): void {
  for (const { path, inode } of mounted) {
    if (String(statSync(path, { bigint: true }).ino) === inode) continue;
    throw new OperationError(`${path} was exchanged for something else while the sandbox was being made`, {
      hint: 'see what writes there (another sandbox?), then start again',
    });
  }
}
