import { constants } from 'node:os';
import type { ReadStream, WriteStream } from 'node:tty';
import { safeForTerminal } from '../../lib/redact.ts';
import {
  type Exited,
  type Frame,
  type FrameConnection,
  InputCredit,
  type SignalName,
  sendInput,
} from '../../wire/index.ts';
import { TerminalModes } from './terminal-modes.ts';

/** The user's end: the process's own streams, or a test's. */
export interface UserStreams {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
}

/** How a program in the sandbox ended, as seen from here. */
export type Ending = { how: 'exited'; exited: Exited } | { how: 'lost' };

const FORWARDED: readonly SignalName[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'];

/**
 * Joins the user's streams to a program in the sandbox until it has ended (S14, S20). With `terminal` the local
 * terminal is in raw mode meanwhile, and back in its own mode on every way out of here.
 */
export async function attach(
  connection: FrameConnection,
  user: UserStreams,
  terminal: boolean,
): Promise<Ending> {
  const credit = new InputCredit(connection.closed);
  const restore = terminal ? enterRawMode(user.stdin) : () => undefined;
  const unforward = forwardSignals(connection);
  const stopResizing = terminal ? followSize(connection, user.stdout) : () => undefined;
  const stopInput = sendAllInput(connection, credit, user, terminal);
  watchOutput(connection, user);
  const modes = terminal ? new TerminalModes() : undefined;
  const { promise, resolve } = Promise.withResolvers<Ending>();
  connection.onFrame((frame) => {
    if (frame.type === 'exited') resolve({ how: 'exited', exited: frame.value });
    if (frame.type === 'data') modes?.see(frame.bytes);
    return handle(frame, user, credit);
  });
  void connection.closed.then(() => resolve({ how: 'lost' }));
  try {
    return await promise;
  } finally {
    stopInput();
    stopResizing();
    unforward();
    const left = modes?.end() ?? '';
    if (left !== '' && user.stdout.writable) user.stdout.write(left);
    restore();
    connection.destroy();
  }
}

/** The exit code that a shell would report for the program. */
export function exitCodeOf({ code, signal }: Exited): number {
  if (code !== null) return code;
  const signals: Record<string, number | undefined> = constants.signals;
  return 128 + (signals[signal ?? ''] ?? 0);
}

function handle(frame: Frame, user: UserStreams, credit: InputCredit): Promise<void> | undefined {
  switch (frame.type) {
    case 'data':
      return write(user.stdout, frame.bytes);
    case 'error-data':
      return write(user.stderr, frame.bytes);
    case 'ack':
      credit.acknowledge(frame.consumed);
      return undefined;
    case 'status':
      return write(user.stderr, Buffer.from(`pi-sandbox: ${safeForTerminal(frame.value.text)}\n`));
    default:
      return undefined;
  }
}

/** Resolves when more may be written; a stream that is closed takes everything and keeps nothing. */
function write(stream: NodeJS.WriteStream, bytes: Uint8Array): Promise<void> | undefined {
  if (!stream.writable || stream.write(bytes)) return undefined;
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done).off('close', done).off('error', done);
      resolve();
    };
    stream.on('drain', done).on('close', done).on('error', done);
  });
}

/** A closed standard output ends the program in the sandbox, as a closed pipe does (S14). */
function watchOutput(connection: FrameConnection, user: UserStreams): void {
  for (const stream of ['stdout', 'stderr'] as const) {
    user[stream].on('error', () => connection.send({ type: 'output-closed', value: { stream } }));
  }
}

function enterRawMode(stdin: ReadStream | NodeJS.ReadStream): () => void {
  const before = stdin.isRaw;
  const restore = (): void => {
    stdin.setRawMode(before);
    process.off('exit', restore);
  };
  stdin.setRawMode(true);
  passOutputThrough(stdin);
  process.on('exit', restore);
  return restore;
}

/**
 * Node's raw mode still turns each line feed into carriage return and line feed, which moves the cursor of a program
 * that means a line feed alone; the program's own terminal has done that where it is wanted (S20). Leaving raw mode
 * undoes this too. Without `stty` only such programs draw wrongly.
 */
function passOutputThrough(stdin: ReadStream | NodeJS.ReadStream): void {
  const { spawnSync } = process.getBuiltinModule('node:child_process');
  spawnSync('stty', ['-opost'], { stdio: [stdin, 'ignore', 'ignore'], timeout: 2_000 });
}

function followSize(connection: FrameConnection, stdout: WriteStream | NodeJS.WriteStream): () => void {
  const send = (): void => {
    const { columns, rows } = stdout;
    if (columns > 0 && rows > 0) connection.send({ type: 'resize', value: { columns, rows } });
  };
  stdout.on('resize', send);
  return () => stdout.off('resize', send);
}

function sendAllInput(
  connection: FrameConnection,
  credit: InputCredit,
  user: UserStreams,
  terminal: boolean,
): () => void {
  const { stdin } = user;
  // pi reads standard input to its end unless it is a terminal; ours, for a program without one, has no end to wait for.
  if (!terminal && stdin.isTTY) {
    connection.send({ type: 'end-of-input' });
    return () => undefined;
  }
  const take = (chunk: Buffer): void => {
    stdin.pause();
    void sendInput(connection, credit, chunk).then((open) => {
      if (open) stdin.resume();
    });
  };
  const end = (): void => void connection.send({ type: 'end-of-input' });
  stdin.on('data', take).once('end', end).on('error', end);
  return () => {
    stdin.off('data', take).off('end', end).off('error', end);
    stdin.pause();
    // A pipe that nobody writes to would otherwise keep this process from ending.
    if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref();
  };
}

/** Signals to this command reach the program; a second one of the same kind ends this command itself. */
function forwardSignals(connection: FrameConnection): () => void {
  const seen = new Set<SignalName>();
  const handlers = FORWARDED.map((signal) => {
    const handler = (): void => {
      if (seen.has(signal) && signal !== 'SIGUSR1' && signal !== 'SIGUSR2') {
        process.exit(exitCodeOf({ code: null, signal }));
      }
      seen.add(signal);
      connection.send({ type: 'signal', value: { signal } });
    };
    process.on(signal, handler);
    return { signal, handler };
  });
  return () => {
    for (const { signal, handler } of handlers) process.off(signal, handler);
  };
}

/** What to tell the user when the program did not simply exit. */
export function describeEnding(exited: Exited): string | undefined {
  if (exited.outOfMemory === undefined) return undefined;
  const mebibytes = Math.round(exited.outOfMemory.limit / 2 ** 20);
  return `ended by the kernel for lack of memory (limit ${mebibytes} MiB): raise it with --memory or MEMORY=`;
}
