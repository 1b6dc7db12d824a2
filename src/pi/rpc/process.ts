/** pi as a process: three pipes, a pid, signals and an end. Tests and other hosts may hand in their own. */
import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../../lib/clock.ts';
import { PiStartError, PiSurvivesError } from './errors.ts';
import type { PiExit } from './exit.ts';
import { within } from './within.ts';

export interface PiProcess {
  readonly pid: number;
  /** Stays open as long as pi is wanted: its end ends pi at once, in the middle of a tool. */
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Does nothing to a process that has ended. */
  signal(name: 'SIGTERM' | 'SIGKILL'): void;
  /** Resolves when the process is gone, even while a child of it keeps the pipes open. */
  readonly ended: Promise<PiExit>;
}

export interface PiCommand {
  command: string;
  /** All of them, `--mode rpc` included. */
  args: readonly string[];
  cwd: string;
  /** The whole environment; nothing is inherited beside it. */
  env: NodeJS.ProcessEnv;
}

/**
 * Starts pi in a process group of its own: a Ctrl-C in our terminal must not reach it, for SIGINT leaves the children
 * of its tools behind. When we die, its input ends, and with it pi.
 *
 * @throws PiStartError
 */
export async function spawnPi({ command, args, cwd, env }: PiCommand): Promise<PiProcess> {
  const child = spawn(command, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  const { stdin, stdout, stderr } = child;
  const ended = new Promise<PiExit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.on('error', (error) => reject(new PiStartError(command, cwd, error)));
  });
  const { pid } = child;
  if (pid === undefined) throw new PiStartError(command, cwd, 'it has no process id');
  return { pid, stdin, stdout, stderr, ended, signal: (name) => void child.kill(name) };
}

/** So long a killed process may take to vanish; only one that the kernel holds takes longer. */
const VANISH_MS = 5_000;

/**
 * SIGTERM, which lets pi end its tools; after `graceMs` SIGKILL (J4). What pi's tools left behind is not looked for:
 * whoever started pi knows by what to tell it.
 *
 * @throws PiSurvivesError
 */
export async function stopProcess(process: PiProcess, clock: Clock, graceMs: number): Promise<PiExit> {
  process.signal('SIGTERM');
  const gone = await within(clock, graceMs, process.ended);
  if (gone !== undefined) return gone;
  process.signal('SIGKILL');
  const killed = await within(clock, VANISH_MS, process.ended);
  if (killed === undefined) throw new PiSurvivesError(process.pid);
  return killed;
}
