import type { ReadStream, WriteStream } from 'node:tty';
import { safeForTerminal } from '../../lib/redact.ts';
import {
  type Frame,
  type FrameConnection,
  InputCredit,
  type SignalName,
  sendInput,
} from '../../wire/index.ts';
import { type Ending, exitCodeOf } from './ending.ts';
import { TerminalModes } from './terminal-modes.ts';

/** The user's end: the process's own streams, or a test's. */
export interface UserStreams {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
}

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
  const modes = terminal ? new TerminalModes() : undefined;
  const restore = modes ? enterRawMode(user, modes) : () => undefined;
  const signals = forwardSignals(connection);
  const stopResizing = terminal ? followSize(connection, user.stdout) : () => undefined;
  const stopInput = sendAllInput(connection, credit, user, terminal);
  watchOutput(connection, user);
  const { promise, resolve } = Promise.withResolvers<Ending>();
  connection.onFrame((frame) => {
    if (frame.type === 'exited') resolve({ how: 'exited', exited: frame.value });
    if (frame.type === 'data') modes?.see(frame.bytes);
    return handle(frame, user, credit);
  });
  void connection.closed.then(() => resolve({ how: 'lost' }));
  try {
    const ending = await promise;
    // In raw mode still: the terminal would make other bytes of what waits for it.
    if (terminal) await Promise.all([user.stdout, user.stderr].map(written));
    const signal = signals.last();
    return signal === undefined ? ending : { ...ending, signal };
  } finally {
    stopInput();
    stopResizing();
    signals.stop();
    restore();
    connection.destroy();
  }
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

/** Settles when everything was handed to the system, or never will be. */
function written(stream: NodeJS.WriteStream): Promise<void> | undefined {
  if (!stream.writable || stream.writableLength === 0) return undefined;
  return new Promise((resolve) => stream.write('', () => resolve()));
}

/** A closed standard output ends the program in the sandbox, as a closed pipe does (S14). */
function watchOutput(connection: FrameConnection, user: UserStreams): void {
  for (const stream of ['stdout', 'stderr'] as const) {
    user[stream].on('error', () => connection.send({ type: 'output-closed', value: { stream } }));
  }
}

/** Also undone where this process ends in the middle; what is written to a terminal then is written at once. */
function enterRawMode({ stdin, stdout }: UserStreams, modes: TerminalModes): () => void {
  const before = stdin.isRaw;
  const restore = (): void => {
    process.off('exit', restore);
    const left = modes.end();
    if (left !== '' && stdout.writable) stdout.write(left);
    stdin.setRawMode(before);
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
function forwardSignals(connection: FrameConnection): { last(): SignalName | undefined; stop(): void } {
  const seen = new Set<SignalName>();
  let last: SignalName | undefined;
  const handlers = FORWARDED.map((signal) => {
    const handler = (): void => {
      if (seen.has(signal) && signal !== 'SIGUSR1' && signal !== 'SIGUSR2') {
        process.exit(exitCodeOf({ code: null, signal }));
      }
      seen.add(signal);
      last = signal;
      connection.send({ type: 'signal', value: { signal } });
    };
    process.on(signal, handler);
    return { signal, handler };
  });
  return {
    last: () => last,
    stop: () => {
      for (const { signal, handler } of handlers) process.off(signal, handler);
    },
  };
}
