/** Runs the real pi, and other programs of ours, bounded in time and output. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export const PI = '/usr/local/bin/pi';

/** A user's extensions may take their time; a pi that says nothing for so long is no use to anybody. */
const PI_MS = 60_000;
const MAX_OUTPUT = 1024 * 1024;

export interface PiOutcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs pi to its end without input. */
export function runPi(args: string[], cwd: string, env: NodeJS.ProcessEnv): Promise<PiOutcome> {
  return runProgram(PI, args, cwd, env);
}

/** Runs a program to its end without input. */
export async function runProgram(
  program: string,
  args: string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<PiOutcome> {
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: PI_MS });
  const [stdout, stderr] = [bounded(child.stdout), bounded(child.stderr)];
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('close', resolve).once('error', reject);
  });
  return { code, stdout: stdout(), stderr: stderr() };
}

export interface OpenPi {
  /** True when pi has answered the prompt; false when it ended or took too long. */
  readonly answered: Promise<boolean>;
  stderr(): string;
  /** Ends its input, which ends pi; kills it if not. */
  end(): Promise<void>;
}

/** Starts pi with one prompt, and leaves it open. */
export function openPi(prompt: string, cwd: string, env: NodeJS.ProcessEnv): OpenPi {
  const child = spawn(PI, ['--mode', 'rpc'], { cwd, env, timeout: 2 * PI_MS });
  const stderr = bounded(child.stderr);
  const { promise: answered, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), PI_MS);
  const closed = new Promise<void>((settle) => {
    child.once('close', () => settle()).once('error', () => settle());
  });
  void closed.then(() => resolve(false));
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.includes('"agent_settled"')) resolve(true);
  });
  child.stdin.on('error', () => undefined);
  child.stdin.write(`${JSON.stringify({ type: 'prompt', id: 'selftest', message: prompt })}\n`);
  return {
    answered: answered.finally(() => clearTimeout(timer)),
    stderr,
    async end() {
      child.stdin.end();
      const killing = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await closed;
      clearTimeout(killing);
    },
  };
}

function bounded(stream: NodeJS.ReadableStream): () => string {
  let text = '';
  stream.on('data', (chunk: Buffer) => {
    if (text.length < MAX_OUTPUT) text += chunk.toString('utf8');
  });
  return () => text;
}
