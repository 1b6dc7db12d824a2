import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  watch,
  type FSWatcher,
} from 'node:fs';
import type { Link } from '../../agent-dir/index.ts';
import { writeFileAtomic } from '../../lib/atomic-file.ts';
import { hasCode, messageOf } from '../../lib/errors.ts';

/** A writer that is still at it gets this long to finish before the file is read again. */
const SETTLE_MS = 50;
/** Larger files are not state of pi's; they stay where they are and are reported (rule 7). */
const MAX_BYTES = 64 * 1024 * 1024;

export interface KeeperReport {
  (event: 'put-behind-link' | 'removed-behind-link' | 'left-alone', name: string, detail: string): void;
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
    this.watcher.on('error', () => undefined);
  }

  /** A last look at every link before the container goes; afterwards nothing is watched any more. */
  async stop(): Promise<void> {
    this.watcher?.close();
    await Promise.all([...this.links.keys()].map((name) => this.mend(name)));
  }

  /** One mend per name at a time; an event that comes in between starts another look afterwards. */
  private mend(name: string): Promise<void> {
    const link = this.links.get(name);
    if (link === undefined) return Promise.resolve();
    const before = this.busy.get(name) ?? Promise.resolve();
    const next = before.then(() => this.look(link)).catch((error: unknown) => this.report('left-alone', name, messageOf(error)));
    this.busy.set(name, next);
    return next;
  }

  private async look(link: Link): Promise<void> {
    const path = `${this.directory}/${link.name}`;
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return this.removedByHand(link, path);
    if (stat.isSymbolicLink()) {
      if (readlinkSync(path) !== link.target) this.restore(link, path);
      return;
    }
    if (!stat.isFile()) {
      this.report('left-alone', link.name, 'a folder stands where a link belongs; it will go with the container');
      return;
    }
    if (stat.size > MAX_BYTES) {
      this.report('left-alone', link.name, `larger than ${MAX_BYTES} bytes`);
      return;
    }
    await this.putBehind(link, path);
  }

  /** A file only: to remove a link to a folder is not to ask for the folder's end. */
  private removedByHand(link: Link, path: string): void {
    if (link.behind === 'file' && link.owner !== 'memory') {
      rmSync(link.target, { force: true });
      this.report('removed-behind-link', link.name, link.target);
    }
    this.restore(link, path);
  }

  private restore(link: Link, path: string): void {
    const fresh = `${this.directory}/.${link.name}.link`;
    rmSync(fresh, { force: true });
    symlinkSync(link.target, fresh);
    renameSync(fresh, path);
  }

  /**
   * The file stays open while its content is put behind the link: a program that still writes into it is seen
   * afterwards by its size and time, and the content is put there again.
   */
  private async putBehind(link: Link, path: string): Promise<void> {
    const file = openNoFollow(path);
    if (file === undefined) return;
    try {
      let seen = await settled(file);
      await writeFileAtomic(link.target, readAll(file));
      this.restore(link, path);
      for (let rounds = 0; rounds < 20; rounds++) {
        const now = await settled(file);
        if (now === seen) break;
        seen = now;
        await writeFileAtomic(link.target, readAll(file));
      }
      this.report('put-behind-link', link.name, link.target);
    } finally {
      closeSync(file);
    }
  }
}

function openNoFollow(path: string): number | undefined {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ELOOP')) return undefined;
    throw error;
  }
}

/** Waits until size and time stand still for one interval, at most 20 of them; returns what they are. */
async function settled(file: number): Promise<string> {
  let before = stamp(file);
  for (let rounds = 0; rounds < 20; rounds++) {
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    const now = stamp(file);
    if (now === before) return now;
    before = now;
  }
  return before;
}

function stamp(file: number): string {
  const stat = fstatSync(file, { bigint: true });
  return `${stat.size}:${stat.mtimeNs}`;
}

function readAll(file: number): Buffer {
  const size = Math.min(fstatSync(file).size, MAX_BYTES);
  const content = Buffer.alloc(size);
  let at = 0;
  while (at < size) {
    const read = readSync(file, content, at, size - at, at);
    if (read === 0) break;
    at += read;
  }
  return content.subarray(0, at);
}
