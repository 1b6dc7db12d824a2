import {
  closeSync,
  constants,
  type FSWatcher,
  fstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { basename, dirname } from 'node:path';
import { type Decisions, parseDecisions, TRUST_LOCK } from '../../agent-dir/index.ts';
import { writeFileAtomic } from '../../lib/atomic-file.ts';
import { readRegularFile } from '../../lib/bounded-read.ts';
import { hasCode, messageOf, OperationError } from '../../lib/errors.ts';
import { takeLock } from '../../lib/kernel-lock.ts';
import { carryOver, renderDecisions, sameDecisions } from './decisions.ts';
import { underPiLock } from './pi-lock.ts';

const MAX_BYTES = 4 * 1024 * 1024;
const LOCK_WAIT_MS = 5_000;
/** What could not be carried over is tried again after this, twice as long each time. */
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;

/**
 * Keeps a container's private `trust.json` and the shared one in step, so that two sandboxes that decide at the same
 * moment lose neither decision (S4). pi locks beside the path it was given, which is private here, and rewrites the
 * whole file: through a link, the later of two writers would undo the earlier one. So each container has a copy, and
 * what changed since the last look is carried over key by key, under a kernel lock in the shared volume.
 */
export class TrustSync {
  private readonly own: string;
  private readonly shared: string;
  private readonly report: (problem: string) => void;
  /** What both files held when they were last the same. */
  private base: Decisions = new Map();
  private watchers: FSWatcher[] = [];
  private running: Promise<void> = Promise.resolve();
  private queued = false;
  private stopped = false;
  private retryMs = FIRST_RETRY_MS;
  private retry: NodeJS.Timeout | undefined;
  private lastProblem = '';

  constructor(own: string, shared: string, report: (problem: string) => void) {
    this.own = own;
    this.shared = shared;
    this.report = report;
  }

  /** Takes the shared decisions over, before the first pi reads them. */
  async start(): Promise<void> {
    // First: what changes from here on is seen.
    for (const path of [this.own, this.shared]) this.watch(path);
    try {
      this.base = (await this.readShared()) ?? this.base;
      if (this.base.size > 0) this.writeOwn(this.base);
    } catch (error) {
      this.tell(messageOf(error));
    }
  }

  /** Carries the last changes over and stops watching. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.retry);
    for (const watcher of this.watchers) watcher.close();
    await this.sync();
  }

  /** Runs after the round that is under way; any number of calls in between are one round. */
  sync(): Promise<void> {
    if (this.queued) return this.running;
    this.queued = true;
    clearTimeout(this.retry);
    this.running = this.running.then(async () => {
      this.queued = false;
      try {
        await this.round();
        this.retryMs = FIRST_RETRY_MS;
        this.lastProblem = '';
      } catch (error) {
        this.tell(messageOf(error));
        this.tryLater();
      }
    });
    return this.running;
  }

  /** pi's lock is held for the two short steps on the private file only, never while the shared disk is waited for. */
  private async round(): Promise<void> {
    const lock = await takeLock(`${dirname(this.shared)}/${TRUST_LOCK}`, { waitMs: LOCK_WAIT_MS });
    try {
      const own = await underPiLock(this.own, () => this.readOwn());
      const shared = await this.readShared();
      const next = carryOver(this.base, own, shared);
      if (!sameDecisions(next, shared)) await writeFileAtomic(this.shared, renderDecisions(next));
      await underPiLock(this.own, () => {
        const now = this.readOwn();
        const merged = carryOver(own, now, next);
        if (!sameDecisions(merged, now)) this.writeOwn(merged);
        this.base = next;
        // Decided in between: the next round carries it over.
        if (!sameDecisions(merged, next)) void this.sync();
      });
    } finally {
      lock.release();
    }
  }

  private async readShared(): Promise<Decisions> {
    const content = await readRegularFile(this.shared, { maxBytes: MAX_BYTES });
    return this.parse(this.shared, content);
  }

  private readOwn(): Decisions {
    let fd: number;
    try {
      fd = openSync(this.own, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return new Map();
      throw error;
    }
    try {
      const stat = fstatSync(fd);
      if (!stat.isFile() || stat.size > MAX_BYTES) throw new OperationError(`${this.own} is not read`);
      return this.parse(this.own, readFileSync(fd));
    } finally {
      closeSync(fd);
    }
  }

  private parse(path: string, content: Buffer | undefined): Decisions {
    if (content === undefined) return new Map();
    const decisions = parseDecisions(content.toString('utf8'));
    if (decisions !== undefined) return decisions;
    throw new OperationError(`${path} cannot be read as trust decisions and is left as it is`);
  }

  private writeOwn(decisions: Decisions): void {
    if (decisions.size === 0) {
      rmSync(this.own, { force: true });
      return;
    }
    const fresh = `${this.own}.new`;
    rmSync(fresh, { recursive: true, force: true });
    writeFileSync(fresh, renderDecisions(decisions), { mode: 0o600 });
    renameSync(fresh, this.own);
  }

  private watch(path: string): void {
    const name = basename(path);
    try {
      const watcher = watch(dirname(path), { persistent: false }, (_event, changed) => {
        if (changed === name) void this.sync();
      });
      watcher.on('error', (error) => this.tell(messageOf(error)));
      this.watchers.push(watcher);
    } catch (error) {
      this.tell(messageOf(error));
    }
  }

  /** The same problem is told once, however often it is met. */
  private tell(problem: string): void {
    if (problem !== this.lastProblem) this.report(problem);
    this.lastProblem = problem;
  }

  private tryLater(): void {
    if (this.stopped || this.queued) return;
    this.retry = setTimeout(() => void this.sync(), this.retryMs);
    this.retry.unref();
    this.retryMs = Math.min(this.retryMs * 2, LONGEST_RETRY_MS);
  }
}
