/**
 * Git, as commands on worktrees run it (R5): never asking anybody anything, and bounded in time and in what it says. Hooks, a
 * file monitor and housekeeping of the repository are left out: they would slow us down or go on behind us. Filters run, as
 * they do whenever git writes or reads a file.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { hasCode, messageOf } from '../../lib/errors.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { RunError } from '../errors.ts';

/** A look, a diff, a change of a ref. */
const GIT_MS = 120_000;
const OUTPUT_BYTES = 1_024 * 1_024;
const STDERR_BYTES = 8 * 1_024;

/** What of git's own variables says who it is and how it reaches others; all else would lead it to another repository. */
const KEPT = /^GIT_(?:CONFIG_(?!PARAMETERS$)|SSH|SSL_|HTTP_|PROXY_|ALLOW_PROTOCOL$|LFS_|EXEC_PATH$)/;

const SETTINGS = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'advice.addEmbeddedRepo=false',
].flatMap((setting) => ['-c', setting]);

export interface GitOptions {
  /** Where it runs; must be there. */
  readonly cwd: string;
  /** More variables, such as another index. */
  readonly variables?: Readonly<Record<string, string>>;
  readonly input?: string | Buffer;
  readonly milliseconds?: number;
  /** What it says beyond is cut off, and it is ended. */
  readonly maxBytes?: number;
  /** An open file that it, and whatever it starts, hold open as long as they live. */
  readonly hold?: number;
}

export interface GitResult {
  /** 128 where it was ended. */
  readonly code: number;
  readonly stdout: Buffer;
  /** There was more. */
  readonly cut: boolean;
  /** Its last line on standard error that says what is wrong. */
  readonly complaint: string;
}

export type Git = (words: readonly string[], options: GitOptions) => Promise<GitResult>;

/** @param env of this process: its git configuration, ways to other machines and credentials are git's too */
export function gitOf(env: NodeJS.ProcessEnv): Git {
  const kept = Object.entries(env).filter(([name]) => !name.startsWith('GIT_') || KEPT.test(name));
  const base = {
    ...Object.fromEntries(kept),
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    SSH_ASKPASS_REQUIRE: 'never',
    GIT_OPTIONAL_LOCKS: '0',
  };
  return (words, options) => run(words, { ...base, ...options.variables }, options);
}

/** @throws RunError `failed` saying what was tried, and what git says of it */
export async function succeed(
  git: Git,
  doing: string,
  words: readonly string[],
  options: GitOptions,
): Promise<Buffer> {
  const { code, stdout, complaint } = await git(words, options);
  if (code === 0) return stdout;
  throw new RunError('failed', `cannot ${doing}: ${complaint}`);
}

async function run(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  { cwd, input, milliseconds = GIT_MS, maxBytes = OUTPUT_BYTES, hold }: GitOptions,
): Promise<GitResult> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const child = spawn('git', [...SETTINGS, '--literal-pathspecs', '--no-pager', ...words], {
    cwd,
    env,
    // A group of its own, so that its filters end with it; and no terminal to ask on.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', hold ?? 'ignore'],
  });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    endGroup(child);
  }, milliseconds);
  const output = collect(child.stdout, maxBytes, () => endGroup(child));
  const errors = collect(child.stderr, STDERR_BYTES);
  child.once('error', (error) => reject(noGit(error, cwd)));
  child.once('close', (code) => resolve(code ?? 128));
  // It may well end without having read all.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(input ?? '');
  try {
    const code = await promise;
    const complaint = late ? `git took longer than ${milliseconds / 1_000} s` : complaintOf(errors.bytes());
    return { code: late ? 128 : code, stdout: output.bytes(), cut: output.cut(), complaint };
  } finally {
    clearTimeout(timer);
  }
}

interface Collected {
  bytes(): Buffer;
  cut(): boolean;
}

function collect(stream: NodeJS.ReadableStream | null, maxBytes: number, overflow?: () => void): Collected {
  const pieces: Buffer[] = [];
  let room = maxBytes;
  let cut = false;
  stream?.on('data', (piece: Buffer) => {
    if (piece.length > room && !cut) {
      cut = true;
      overflow?.();
    }
    if (room > 0) pieces.push(piece.subarray(0, room));
    room = Math.max(0, room - piece.length);
  });
  return { bytes: () => Buffer.concat(pieces), cut: () => cut };
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (!hasCode(error, 'ESRCH', 'EPERM')) throw error;
  }
}

function noGit(error: Error, cwd: string): RunError {
  const hint = hasCode(error, 'ENOENT') ? `check that git is installed and that ${cwd} is there` : undefined;
  return new RunError('failed', `git could not be started: ${messageOf(error)}`, {
    cause: error,
    ...(hint === undefined ? {} : { hint }),
  });
}

function complaintOf(stderr: Buffer): string {
  const lines = stderr
    .toString('utf8')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const told =
    lines.find((line) => /^(?:fatal|error): /.test(line)) ?? lines.at(-1) ?? 'git does not say why';
  return safeForTerminal(told.replace(/^(?:fatal|error): /, '').slice(0, 500));
}
