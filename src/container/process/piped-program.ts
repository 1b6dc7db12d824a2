import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { Exited } from '../../wire/index.ts';
import { type Launch, type OutputHandler, type RunningProgram, signalGroup } from './program.ts';

/** Runs a program with pipes, byte for byte, in a session and process group of its own (S14). */
export function runWithPipes(launch: Launch, output: OutputHandler): RunningProgram {
  const child = spawn(launch.file, launch.arguments, {
    cwd: launch.directory,
    env: launch.environment,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  const { stdin, stdout, stderr } = child;
  // A program that does not read its input closes it early; that is its business and no failure of ours.
  stdin.on('error', () => undefined);
  handOn(stdout, (bytes) => output('stdout', bytes));
  handOn(stderr, (bytes) => output('stderr', bytes));

  const exited = new Promise<Exited>((resolve) => {
    child.once('error', () => resolve({ code: 126, signal: null }));
    // `close` and not `exit`: only then has the last output been read.
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const pid = child.pid ?? 0;

  return {
    pid,
    exited,
    write: (bytes) =>
      new Promise((resolve) => {
        if (!stdin.writable) return resolve();
        stdin.write(bytes, () => resolve());
      }),
    endInput: () => stdin.end(),
    resize: () => undefined,
    signal: (name) => signalGroup(pid, name),
    closeOutput: (stream) => (stream === 'stdout' ? stdout : stderr).destroy(),
    hangUp: () => signalGroup(pid, 'SIGTERM'),
  };
}

function handOn(stream: Readable, take: (bytes: Buffer) => Promise<void> | undefined): void {
  stream.on('error', () => undefined);
  stream.on('data', (bytes: Buffer) => {
    const held = take(bytes);
    if (held === undefined) return;
    stream.pause();
    void held.then(() => stream.resume());
  });
}
