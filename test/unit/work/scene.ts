/** A work root on a real file system, and runs in it of any age and size. */
import { spawn, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../../src/lib/clock.ts';
import {
  acquireRun,
  type PruneReport,
  pruneTenant,
  retentionOf,
  type WorkRetention,
  workSegment,
} from '../../../src/work/index.ts';
import { builtProgram } from '../../setup/built-program.ts';

export const NOW = new Date('2026-12-01T12:00:00.000Z');
export const CATEGORY = 'jobs';
export const TENANT = 'shop';
export const NAME = { category: workSegment('category', CATEGORY), tenant: workSegment('tenant', TENANT) };

export function daysAgo(days: number): Date {
  return new Date(NOW.getTime() - days * 86_400_000);
}

export function clockAt(date: Date): Clock {
  return {
    now: () => date,
    monotonic: () => performance.now(),
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  };
}

export interface RunOptions {
  /** Of last use. */
  days?: number;
  /** Of content, in one file. */
  bytes?: number;
  /** Empty files beside it. */
  files?: number;
}

export interface Scene {
  /** The work root; not made yet. */
  readonly root: string;
  readonly tenant: string;
  /** Beside the work root, for what must not be touched. */
  readonly outside: string;
  /** Makes a released run as the room does, of that age and size; its path. */
  run(runId: string, options?: RunOptions): Promise<string>;
  prune(
    retention?: Partial<WorkRetention>,
    options?: Parameters<typeof pruneTenant>[3],
  ): Promise<PruneReport>;
  /** Names in the tenant that do not begin with a dot. */
  runs(): string[];
  /** Names in the tenant that do. */
  ours(): string[];
  log(): Record<string, unknown>[];
}

export function makeScene(): Scene {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'work-')));
  onTestFinished(() => rmSync(top, { recursive: true, force: true }));
  const [root, outside] = [join(top, 'work'), join(top, 'outside')];
  mkdirSync(outside);
  const tenant = join(root, CATEGORY, TENANT);
  const names = (dotted: boolean): string[] => {
    try {
      return readdirSync(tenant)
        .filter((name) => name.startsWith('.') === dotted)
        .sort();
    } catch {
      return [];
    }
  };
  return {
    root,
    tenant,
    outside,
    async run(runId, { days = 0, bytes = 0, files = 0 } = {}) {
      const run = await acquireRun(
        root,
        { category: CATEGORY, tenant: TENANT, runId },
        { clock: clockAt(NOW) },
      );
      if (bytes > 0) writeFileSync(join(run.path, 'content'), Buffer.alloc(bytes, 1));
      for (let n = 0; n < files; n++) writeFileSync(join(run.path, `f${n}`), '');
      await run.release();
      utimesSync(join(run.path, '.pi-work-run.json'), daysAgo(days), daysAgo(days));
      return run.path;
    },
    prune: (retention = {}, options = {}) =>
      pruneTenant(root, NAME, retentionOf(retention), { clock: clockAt(NOW), ...options }),
    runs: () => names(false),
    ours: () => names(true),
    log: () =>
      readFileSync(join(root, '.pi-work/deletions.log'), 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line)),
  };
}

let room: string | undefined;

/** The room as one script: hundreds of processes load it. */
function roomScript(): string {
  room ??= pathToFileURL(builtProgram('src/work/index.ts')).href;
  return room;
}

/** Code that runs in a process of its own, with the room as `room` and its arguments as `args`. */
function program(code: string): string {
  return `const room = await import(${JSON.stringify(roomScript())}); const args = process.argv.slice(1);\n${code}`;
}

export interface Worker {
  readonly pid: number;
  /** The next line that it prints. */
  line(): Promise<string>;
  tell(line: string): void;
  kill(): Promise<void>;
}

/** A process that goes on beside the test; it is ended with it. */
export function worker(code: string, ...args: string[]): Worker {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program(code), '--', ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  onTestFinished(kill);
  return {
    pid: child.pid ?? 0,
    line: async () => String((await lines.next()).value),
    tell: (line) => void child.stdin.write(`${line}\n`),
    kill,
  };
}

interface RunEnd {
  signal: string | null;
  stdout: string;
  stderr: string;
}

/** Runs to its end, or to its kill. */
export function runToEnd(code: string, ...args: string[]): RunEnd {
  return runLimited('true', code, ...args);
}

/** As {@link runToEnd}, with a limit that the shell sets before: `ulimit -n 200`. */
export function runLimited(limit: string, code: string, ...args: string[]): RunEnd {
  const node = [process.execPath, '--input-type=module', '-e', program(code), '--', ...args];
  const { signal, stdout, stderr, status } = spawnSync('sh', ['-c', `${limit} && exec "$0" "$@"`, ...node], {
    encoding: 'utf8',
    timeout: 20_000,
  });
  if (signal === null && status !== 0) throw new Error(stderr);
  return { signal, stdout, stderr };
}
