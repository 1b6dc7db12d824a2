import { lstatSync, mkdirSync, renameSync, rmSync, rmdirSync, watch, writeFileSync, type FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';
import * as z from 'zod/mini';
import { writeFileAtomic } from '../../lib/atomic-file.ts';
import { readRegularFile } from '../../lib/bounded-read.ts';
import { hasCode, messageOf } from '../../lib/errors.ts';
import { takeLock } from '../../lib/kernel-lock.ts';

const MAX_BYTES = 4 * 1024 * 1024;
const LOCK_WAIT_MS = 5_000;
/** pi waits 200 ms for this lock and then fails, so it is held for a few file operations only. */
const PI_LOCK_TRIES = 100;
const PI_LOCK_PAUSE_MS = 10;
/** How old pi's lock directory must be to count as left by a dead process: pi's own rule. */
const PI_LOCK_STALE_MS = 10_000;

/** pi's trust decisions: canonical directory to trusted, not trusted, or undecided. */
const Decisions = z.record(z.string(), z.nullable(z.boolean()));
type Decisions = z.infer<typeof Decisions>;

/**
 * Keeps a container's private `trust.json` and the shared one in step, so that two sandboxes that decide at the same
 * moment lose neither decision (S4, docs/adr/0004). pi locks beside the path it was given, which is private here, and
 * rewrites the whole file: through a link, the later of two writers would undo the earlier one. So each container has
 * a copy, and what changed since the last look is carried over key by key, under a kernel lock in the shared volume.
 */
export class TrustSync {
  private readonly own: string;
  private readonly shared: string;
  private readonly report: (problem: string) => void;
  private base: Decisions = {};
  private watchers: FSWatcher[] = [];
  private running: Promise<void> = Promise.resolve();
  private queued = false;

  constructor(own: string, shared: string, report: (problem: string) => void) {
    this.own = own;
    this.shared = shared;
    this.report = report;
  }

  /** Takes the shared decisions over, before the first pi reads them. */
  async start(): Promise<void> {
    this.base = (await this.read(this.shared)) ?? {};
    if (Object.keys(this.base).length > 0) this.writeOwn(this.base);
    for (const path of [this.own, this.shared]) {
      const name = basename(path);
      const watcher = watch(dirname(path), { persistent: false }, (_event, changed) => {
        if (changed === name) void this.sync();
      });
      watcher.on('error', () => undefined);
      this.watchers.push(watcher);
    }
  }

  /** Carries the last changes over and stops watching. */
  async stop(): Promise<void> {
    for (const watcher of this.watchers) watcher.close();
    await this.sync();
  }

  /** Runs after the round that is under way; any number of calls in between are one round. */
  sync(): Promise<void> {
    if (this.queued) return this.running;
    this.queued = true;
    this.running = this.running
      .then(() => {
        this.queued = false;
        return this.round();
      })
      .catch((error: unknown) => this.report(messageOf(error)));
    return this.running;
  }

  private async round(): Promise<void> {
    const lock = await takeLock(`${dirname(this.shared)}/.trust.lock`, { waitMs: LOCK_WAIT_MS });
    if (lock === undefined) throw new Error('trust.json: another sandbox holds the lock; trying at the next change');
    try {
      await this.underPiLock(async () => {
        const own = await this.read(this.own);
        const shared = await this.read(this.shared);
        if (own === undefined || shared === undefined) return;
        const next = carryOver(this.base, own, shared);
        if (!same(next, shared)) await writeFileAtomic(this.shared, render(next));
        if (!same(next, own)) this.writeOwn(next);
        this.base = next;
      });
    } finally {
      lock.release();
    }
  }

  /** The decisions in a file; none for a missing one; undefined while it cannot be understood (half written). */
  private async read(path: string): Promise<Decisions | undefined> {
    const content = await readRegularFile(path, { maxBytes: MAX_BYTES });
    if (content === undefined) return {};
    try {
      return Decisions.parse(JSON.parse(content.toString('utf8')));
    } catch {
      if (path === this.shared) this.report(`${path} cannot be read as trust decisions and is left as it is`);
      return undefined;
    }
  }

  private writeOwn(decisions: Decisions): void {
    if (Object.keys(decisions).length === 0) {
      rmSync(this.own, { force: true });
      return;
    }
    const fresh = `${this.own}.new`;
    writeFileSync(fresh, render(decisions), { mode: 0o600 });
    renameSync(fresh, this.own);
  }

  /** Holds the lock directory that pi itself takes for each read and write of the private file. */
  private async underPiLock(work: () => Promise<void>): Promise<void> {
    const lock = `${this.own}.lock`;
    for (let tries = 0; !tryMakeDirectory(lock); tries++) {
      const stat = lstatSync(lock, { throwIfNoEntry: false });
      if (stat !== undefined && Date.now() - stat.mtimeMs > PI_LOCK_STALE_MS) removeDirectory(lock);
      else if (tries >= PI_LOCK_TRIES) throw new Error(`${lock} stays taken`);
      else await new Promise((resolve) => setTimeout(resolve, PI_LOCK_PAUSE_MS));
    }
    try {
      await work();
    } finally {
      removeDirectory(lock);
    }
  }
}

/** What was decided here since `base`, on top of what stands in the shared file now. */
export function carryOver(base: Decisions, own: Decisions, shared: Decisions): Decisions {
  const next = { ...shared };
  for (const key of new Set([...Object.keys(base), ...Object.keys(own)])) {
    const decision = own[key];
    if (decision === base[key]) continue;
    if (decision === undefined) delete next[key];
    else next[key] = decision;
  }
  return next;
}

function render(decisions: Decisions): string {
  const sorted = Object.fromEntries(Object.entries(decisions).sort(([a], [b]) => (a < b ? -1 : 1)));
  return `${JSON.stringify(sorted, null, 2)}\n`;
}

function same(a: Decisions, b: Decisions): boolean {
  return render(a) === render(b);
}

function tryMakeDirectory(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

function removeDirectory(path: string): void {
  try {
    rmdirSync(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}
