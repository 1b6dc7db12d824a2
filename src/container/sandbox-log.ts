import { renameSync, statSync } from 'node:fs';
import { makeStateDirectory } from '../lib/atomic-file.ts';
import type { Clock } from '../lib/clock.ts';
import { appendJsonLine } from '../lib/jsonl.ts';

/** Beyond this size the log becomes `<name>.jsonl.1`, in place of the one before (rule 7). */
const MAX_BYTES = 1024 * 1024;

/** One line of a sandbox's log in its domain's volume; `logs` and `ps --all` read it when the sandbox is gone. */
export interface LogEntry {
  /** ISO 8601, UTC. */
  time: string;
  event: string;
  [fact: string]: unknown;
}

/** The supervisor's log. Writing it must never be what ends a sandbox, so a failure is remembered and not thrown. */
export class SandboxLog {
  readonly path: string;
  private readonly clock: Clock;
  private pending: Promise<void> = Promise.resolve();

  constructor(directory: string, name: string, clock: Clock) {
    this.path = `${directory}/${name}.jsonl`;
    this.clock = clock;
    makeStateDirectory(directory);
  }

  write(event: string, facts: Record<string, unknown> = {}): void {
    const entry: LogEntry = { time: this.clock.now().toISOString(), event, ...facts };
    this.pending = this.pending.then(() => this.append(entry)).catch(() => undefined);
  }

  /** Resolves when everything written so far is on disk. */
  flush(): Promise<void> {
    return this.pending;
  }

  private async append(entry: LogEntry): Promise<void> {
    const size = statSync(this.path, { throwIfNoEntry: false })?.size ?? 0;
    if (size > MAX_BYTES) renameSync(this.path, `${this.path}.1`);
    await appendJsonLine(this.path, entry);
  }
}
