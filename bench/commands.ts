/** Running the programs that are compared, and timing them. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

export interface Command {
  readonly file: string;
  readonly words: readonly string[];
  readonly environment?: NodeJS.ProcessEnv;
  readonly directory?: string;
}

export interface Finished {
  readonly output: string;
  /** Milliseconds from just before the start to the last byte on standard output; undefined when there was none. */
  readonly toLastByte: number | undefined;
  /** Milliseconds to the end of the process and of its output. */
  readonly toEnd: number;
}

/** A program that takes longer than this will not come back. */
const LIMIT_MS = 180_000;
/** Building the image downloads and installs. */
export const BUILD_LIMIT_MS = 30 * 60_000;

/** Runs a program without input to its end. A failure is an error that shows what the program said. */
export async function run(command: Command, signal?: AbortSignal, limitMs = LIMIT_MS): Promise<Finished> {
  const start = performance.now();
  const limit = AbortSignal.timeout(limitMs);
  const child = spawn(command.file, command.words, {
    env: command.environment ?? process.env,
    cwd: command.directory,
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
  });
  let last: number | undefined;
  child.stdout.on('data', () => {
    last = performance.now();
  });
  const errors = text(child.stderr);
  const output = text(child.stdout);
  const { promise: closed, resolve, reject } = Promise.withResolvers<number | null>();
  child.once('error', reject).once('close', resolve);
  const [code, stdout, stderr] = await Promise.all([closed, output, errors]);
  const toEnd = performance.now() - start;
  if (code !== 0)
    throw new Error(`${command.file} ended with ${code}: ${(stderr || stdout).trim().slice(-2_000)}`);
  return { output: stdout, toLastByte: last === undefined ? undefined : last - start, toEnd };
}

/** The time until the last byte of an answer that must hold `expected`: a fast failure is no result. */
export async function timeOfAnswer(command: Command, expected: string, signal: AbortSignal): Promise<number> {
  const { output, toLastByte } = await run(command, signal);
  if (toLastByte === undefined || !output.includes(expected)) {
    throw new Error(`${command.file} ${command.words[0]} answered ${JSON.stringify(output.slice(0, 500))}`);
  }
  return toLastByte;
}
