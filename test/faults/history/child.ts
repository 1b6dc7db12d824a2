/** Starts the processes of this directory and waits for what they say. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import type { Job } from './driver.ts';

const PATIENCE_MS = 60_000;

export interface Ended {
  /** The signal that ended it, or its exit code. */
  end: number | NodeJS.Signals;
  lines: string[];
  stderr: string;
}

export interface Child {
  readonly process: ChildProcess;
  /** When it has said that it begins. */
  readonly ready: Promise<void>;
  readonly ended: Promise<Ended>;
}

/** Below test/faults. */
const SCRIPTS = {
  driver: 'history/driver',
  swapper: 'history/swapper',
  writer: 'history/writer',
  'agent-dir': 'agent-dir/driver',
  work: 'work/driver',
  crowd: 'work/crowd',
} as const;
type ChildName = keyof typeof SCRIPTS;

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const bundles = new Map<ChildName, string>();

/** One script each: thousands of them are started, and each would load some dozens of modules. */
function scriptOf(name: ChildName): string {
  const known = bundles.get(name);
  if (known !== undefined) return known;
  const { outputFiles } = buildSync({
    entryPoints: [join(ROOT, 'test/faults', `${SCRIPTS[name]}.ts`)],
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    external: ['fs-native-extensions'],
    write: false,
  });
  const content = outputFiles[0]?.contents ?? new Uint8Array();
  // Below node_modules, so that the native module is found; by content, so that parallel runs do not collide.
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 12);
  const file = join(ROOT, 'node_modules/.cache/pi-sandbox-test', hash, `${name}.mjs`);
  if (!existsSync(file)) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(`${file}.${process.pid}`, content);
    renameSync(`${file}.${process.pid}`, file);
  }
  bundles.set(name, file);
  return file;
}

export function startChild(name: ChildName, words: readonly string[]): Child {
  const child = spawn(process.execPath, [scriptOf(name), ...words], { stdio: ['pipe', 'pipe', 'pipe'] });
  const timer = setTimeout(() => child.kill('SIGABRT'), PATIENCE_MS);
  const started = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Ended>();
  let output = '';
  let stderr = '';
  child.stdin.on('error', () => undefined);
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    output += piece;
    if (output.startsWith('ready\n')) started.resolve();
  });
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    stderr += piece;
  });
  child.once('error', ended.reject).once('close', (code, signal) => {
    clearTimeout(timer);
    started.resolve();
    ended.resolve({ end: signal ?? code ?? -1, lines: output.split('\n').filter(Boolean), stderr });
  });
  return { process: child, ready: started.promise, ended: ended.promise };
}

export interface Result {
  end: number | NodeJS.Signals;
  /** Calls to the file system until then, when they were counted. */
  calls: number;
  result: unknown;
  failure: { name: string; message: string } | undefined;
  said: string;
}

export async function resultOf(child: Child): Promise<Result> {
  const { end, lines, stderr } = await child.ended;
  const last: { calls?: number; result?: unknown; failure?: Result['failure'] } =
    lines.length > 1 ? JSON.parse(lines.at(-1) ?? '{}') : {};
  if (end === 'SIGABRT') throw new Error(`hangs: ${lines.join('\n')}${stderr}`);
  const said = `${lines.slice(1).join('\n')}${stderr}`;
  return { end, calls: last.calls ?? 0, result: last.result, failure: last.failure, said };
}

export async function runJob(job: Job): Promise<Result> {
  return resultOf(startChild('driver', [JSON.stringify(job)]));
}

/** It must have worked. */
export async function runWhole(job: Job): Promise<Result> {
  const result = await runJob(job);
  if (result.end !== 0) throw new Error(`${job.work.verb} failed with ${result.end}: ${result.said}`);
  return result;
}
