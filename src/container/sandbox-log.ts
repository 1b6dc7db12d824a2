import { renameSync, statSync } from 'node:fs';
import { makeStateDirectory } from '../lib/atomic-file.ts';
import type { Clock } from '../lib/clock.ts';
import { appendJsonLine } from '../lib/jsonl.ts';

/** Beyond this size the log becomes `<name>.jsonl.1`, in place of the one before (rule 7). */
const MAX_BYTES = 1024 * 1024;
/** So many lines wait for a disk that does not answer; further ones are dropped (rule 7). */
const MAX_WAITING = 1_000;

/** One line of a sandbox's log in its domain's volume; `logs` and `ps --all` read it when the sandbox is gone. */
export interface LogEntry {
  /** ISO 8601, UTC. */
  time: string;
  event: string;
  [fact: string]: unknown;
}

/** The supervisor's log. Writing it must never be what ends a sandbox, so what cannot be written is dropped. */
export class SandboxLog {
  readonly path: string;
  private readonly clock: Clock;
  private readonly maxBytes: number;
  private pending: Promise<void>;
  private waiting = 0;
  private dropped = 0;

  constructor(directory: string, name: string, clock: Clock, maxBytes = MAX_BYTES) {
    this.path = `${directory}/${name}.jsonl`;
    this.clock = clock;
    this.maxBytes = maxBytes;
    this.pending = makeStateDirectory(directory).catch(() => undefined);
  }

  write(event: string, facts: Record<string, unknown> = {}): void {
    if (this.waiting >= MAX_WAITING) {
      this.dropped++;
      return;
    }
    const entry: LogEntry = { time: this.clock.now().toISOString(), event, ...facts };
    this.waiting++;
    this.pending = this.pending.then(() => this.append(entry));
  }

  /** Resolves when everything written so far is on disk, or was dropped. */
  flush(): Promise<void> {
    return this.pending;
  }

  /** What was dropped before is counted in the next line that can be written. */
  private async append(entry: LogEntry): Promise<void> {
    try {
      const size = statSync(this.path, { throwIfNoEntry: false })?.size ?? 0;
      if (size > this.maxBytes) renameSync(this.path, `${this.path}.1`);
      const { dropped } = this;
      await appendJsonLine(this.path, dropped === 0 ? entry : { ...entry, dropped });
      this.dropped -= dropped;
    } catch {
      this.dropped++;
    } finally {
      this.waiting--;
    }
  }
}
