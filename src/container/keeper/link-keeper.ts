import {
  closeSync,
  constants,
  type FSWatcher,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  watch,
} from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Link } from '../../agent-dir/index.ts';
import { hasCode, messageOf } from '../../lib/errors.ts';
import {
  exchangeForLink,
  putBack,
  putBehind,
  putBehindAgain,
  stampOf,
  type TakenFile,
} from './taken-file.ts';

/** A writer that is still at it gets this long to finish before the file is read again. */
const SETTLE_MS = 50;
const MAX_SETTLES = 20;

export type KeeperReport = (
  event: 'put-behind-link' | 'removed-behind-link' | 'left-alone',
  name: string,
  detail: string,
) => void;

interface Followed {
  file: TakenFile;
  watcher: FSWatcher;
}

/**
 * Keeps the links of the agent directory whole (S4). Whatever a program leaves in a link's place is content that
 * belongs behind the link: it is put there at once and the link stands again. A link removed by hand means the file
 * behind it.
 */
export class LinkKeeper {
  private readonly directory: string;
  private readonly links: Map<string, Link>;
  private readonly report: KeeperReport;
  private readonly busy = new Map<string, Promise<void>>();
  private readonly queued = new Set<string>();
  /** The last file taken from each link's place, for as long as nothing else has changed what is behind the link. */
  private readonly followed = new Map<string, Followed>();
  private watcher: FSWatcher | undefined;

  constructor(directory: string, links: readonly Link[], report: KeeperReport) {
    this.directory = directory;
    this.links = new Map(links.map((link) => [link.name, link]));
    this.report = report;
  }

  start(): void {
    this.watcher = watch(this.directory, { persistent: false }, (_event, name) => {
      if (name !== null && this.links.has(name)) void this.mend(name);
    });
    this.watcher.on('error', (error) => this.report('left-alone', '', messageOf(error)));
  }

  /** A last look at every link before the container goes; afterwards nothing is watched any more. */
  async stop(): Promise<void> {
    this.watcher?.close();
    await Promise.all([...this.links.keys()].map((name) => this.mend(name)));
    for (const name of [...this.followed.keys()]) this.unfollow(name);
  }

  /** One mend per name at a time; any number of events in between start one more look afterwards. */
  private mend(name: string): Promise<void> {
    const link = this.links.get(name);
    const before = this.busy.get(name) ?? Promise.resolve();
    if (link === undefined || this.queued.has(name)) return before;
    this.queued.add(name);
    const next = before
      .then(() => {
        this.queued.delete(name);
        return this.look(link);
      })
      .catch((error: unknown) => this.report('left-alone', name, messageOf(error)));
    this.busy.set(name, next);
    return next;
  }

  private async look(link: Link): Promise<void> {
    await this.catchUp(link);
    const path = `${this.directory}/${link.name}`;
    let stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) {
      // Some programs remove a file and then make it anew: that is no wish to be without it.
      await sleep(SETTLE_MS);
      stat = lstatSync(path, { throwIfNoEntry: false });
      if (stat === undefined) return this.removedByHand(link, path);
    }
    if (stat.isSymbolicLink()) {
      if (readLink(path) !== link.target) this.restore(link, path);
    } else if (stat.isDirectory()) {
      this.report(
        'left-alone',
        link.name,
        'a folder stands where a link belongs; it goes with the container',
      );
    } else if (!stat.isFile() || link.behind === 'directory') {
      this.report('left-alone', link.name, 'what stands where a link belongs cannot be put behind it');
    } else {
      await this.take(link, path);
    }
  }

  /** A file only: to remove a link to a folder is not to ask for the folder's end. */
  private removedByHand(link: Link, path: string): void {
    try {
      if (link.behind === 'directory' || this.wasRenamed(link)) return;
      this.unfollow(link.name);
      if (lstatSync(link.target, { throwIfNoEntry: false })?.isDirectory() !== false) return;
      unlinkSync(link.target);
      this.report('removed-behind-link', link.name, link.target);
    } finally {
      this.restore(link, path);
    }
  }

  /** A link that was given another name in the same directory still stands for its file: `mv auth.json auth.bak`. */
  private wasRenamed(link: Link): boolean {
    return readdirSync(this.directory).some(
      (name) => name !== link.name && readLink(`${this.directory}/${name}`) === link.target,
    );
  }

  private restore(link: Link, path: string): void {
    const fresh = `${this.directory}/.${link.name}.link`;
    rmSync(fresh, { force: true });
    symlinkSync(link.target, fresh);
    renameSync(fresh, path);
  }

  /** Puts the content behind the link first, so that a reader finds it in the one place or the other. */
  private async take(link: Link, path: string): Promise<void> {
    const found = openNoFollow(path);
    if (found === undefined) return;
    let keep: number | undefined;
    try {
      await settle(found);
      let file = await putBehind(found, link);
      const aside = `${this.directory}/.${link.name}.taken`;
      const taken = exchangeForLink(path, aside, link);
      if (taken === undefined) return;
      try {
        if (!isSame(found, taken)) {
          await settle(taken);
          file = await putBehind(taken, link);
        }
        rmSync(aside, { force: true });
        keep = taken;
        this.follow(link, { ...file, fd: taken });
        this.report('put-behind-link', link.name, link.target);
      } finally {
        if (keep === undefined) {
          closeSync(taken);
          putBack(aside, path);
        }
      }
    } finally {
      closeSync(found);
    }
    // What came into it between reading and taking.
    await this.catchUp(link);
  }

  /** Whoever wrote the file may still have it open and write on: that too belongs behind the link. */
  private follow(link: Link, file: TakenFile): void {
    this.unfollow(link.name);
    const watcher = watch(`/proc/self/fd/${file.fd}`, { persistent: false }, () => void this.mend(link.name));
    watcher.on('error', () => undefined);
    this.followed.set(link.name, { file, watcher });
  }

  private async catchUp(link: Link): Promise<void> {
    const followed = this.followed.get(link.name);
    if (followed === undefined || stampOf(followed.file.fd) === followed.file.seen) return;
    await settle(followed.file.fd);
    if (!(await putBehindAgain(followed.file, link))) this.unfollow(link.name);
  }

  private unfollow(name: string): void {
    const followed = this.followed.get(name);
    if (followed === undefined) return;
    this.followed.delete(name);
    followed.watcher.close();
    closeSync(followed.file.fd);
  }
}

function isSame(a: number, b: number): boolean {
  const [one, other] = [fstatSync(a), fstatSync(b)];
  return one.ino === other.ino && one.dev === other.dev;
}

function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (hasCode(error, 'EINVAL', 'ENOENT')) return undefined;
    throw error;
  }
}

function openNoFollow(path: string): number | undefined {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ELOOP', 'ENXIO')) return undefined;
    throw error;
  }
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  return undefined;
}

/** Waits until size and time stand still for one interval, at most 20 of them. */
async function settle(fd: number): Promise<void> {
  let before = stampOf(fd);
  for (let rounds = 0; rounds < MAX_SETTLES; rounds++) {
    await sleep(SETTLE_MS);
    const now = stampOf(fd);
    if (now === before) return;
    before = now;
  }
}
