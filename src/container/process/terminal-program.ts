import { writeSync } from 'node:fs';
import { constants } from 'node:os';
import { ReadStream } from 'node:tty';
import type { PtyBinding } from '@lydell/node-pty/requireBinary.js';
import { hasCode } from '../../lib/errors.ts';
import type { Exited, TerminalSize } from '../../wire/index.ts';
import {
  endWithGrace,
  type Launch,
  type OutputHandler,
  type RunningProgram,
  signalGroup,
  withoutDescriptors,
} from './program.ts';

/** After the program's exit its terminal may stay open in background processes: this long without output is the end. */
const QUIET_MS = 200;
/** A full terminal is tried again after these pauses: it cannot be waited for in any other way. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 50;

/** Masters of the open terminals. They come without close-on-exec, so every new program is told to close them. */
const openMasters = new Set<number>();

export function openTerminals(): readonly number[] {
  return [...openMasters];
}

let binding: PtyBinding | undefined;

/** Loads the native part, once. */
export async function loadPty(): Promise<PtyBinding> {
  binding ??= (await import('@lydell/node-pty/requireBinary.js')).requireBinary('pty.node');
  return binding;
}

/**
 * Runs a program in a pseudo-terminal inside the sandbox (H1 without its mirror, S20): it has its size before the
 * first byte, and nothing between it and the user's terminal looks for detach keys.
 *
 * Only the package's native half is used. Its JavaScript drops what was not read 200 ms after the exit, which a slow
 * client makes us do, and its writes block the whole process while a program does not read.
 */
export async function runInTerminal(
  launch: Launch,
  size: TerminalSize,
  output: OutputHandler,
): Promise<RunningProgram> {
  const pty = await loadPty();
  const { file, arguments: args, directory } = withoutDescriptors(launch, openTerminals());
  const environment = { TERM: 'xterm-256color', ...launch.environment, PWD: directory };
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value ?? ''}`);
  const { promise: died, resolve: reportDeath } = Promise.withResolvers<Exited>();
  const onExit = (code: number, signal: number): void => reportDeath(describeExit(code, signal));
  const { columns, rows } = size;
  const { fd, pid } = pty.fork(file, args, variables, directory, columns, rows, -1, -1, true, '', onExit);
  openMasters.add(fd);

  let dead = false;
  const master = new ReadStream(fd);
  master.once('close', () => openMasters.delete(fd));
  const exited = (async (): Promise<Exited> => {
    const drained = readToEnd(master, died, output);
    const exit = await died;
    dead = true;
    await drained;
    master.destroy();
    return exit;
  })();
  const writer = terminalWriter(fd, () => dead || master.destroyed);
  const end = (): void => endWithGrace(pid, 'SIGHUP', () => dead, launch.hangUpGraceMs);

  return {
    pid,
    exited,
    write: writer,
    // The end of a terminal's input is a key the user presses, never the end of a stream.
    endInput: () => undefined,
    resize: (to) => {
      if (!master.destroyed) pty.resize(fd, to.columns, to.rows);
    },
    signal: (name) => {
      if (!dead) signalGroup(pid, name);
    },
    closeOutput: end,
    hangUp: end,
  };
}

/** Settles when the terminal is closed on the other side, or when nothing comes from it any more after the exit. */
function readToEnd(master: ReadStream, died: Promise<unknown>, output: OutputHandler): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;
  let dead = false;
  const awaitQuiet = (): void => {
    clearTimeout(timer);
    // One more round of the event loop: after a long pause of ours there may be output that was not looked at yet.
    if (dead) timer = setTimeout(() => (timer = setTimeout(resolve, 1)), QUIET_MS);
  };
  master.on('data', (bytes: Buffer) => {
    const held = output('stdout', bytes);
    if (held === undefined) return awaitQuiet();
    master.pause();
    clearTimeout(timer);
    void held.then(() => {
      master.resume();
      awaitQuiet();
    });
  });
  // EIO is how a terminal says that nobody has it open any more.
  master.on('error', () => resolve()).once('close', () => resolve());
  void died.then(() => {
    dead = true;
    if (!master.isPaused()) awaitQuiet();
  });
  return promise;
}

/**
 * Writes to the terminal in order, each piece as the program takes it. The descriptor is non-blocking and is written
 * in this thread only, so that it cannot have become another file's meanwhile.
 */
function terminalWriter(fd: number, closed: () => boolean): (bytes: Uint8Array) => Promise<void> {
  let turn: Promise<void> = Promise.resolve();
  const writeAll = async (bytes: Uint8Array): Promise<void> => {
    let pause = FIRST_PAUSE_MS;
    for (let at = 0; at < bytes.length && !closed(); ) {
      const taken = tryWrite(fd, bytes.subarray(at));
      if (taken > 0) {
        at += taken;
        pause = FIRST_PAUSE_MS;
      } else {
        await new Promise((resolve) => setTimeout(resolve, pause));
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
      }
    }
  };
  return (bytes) => {
    turn = turn.then(() => writeAll(bytes)).catch(() => undefined);
    return turn;
  };
}

function tryWrite(fd: number, bytes: Uint8Array): number {
  try {
    return writeSync(fd, bytes);
  } catch (error) {
    if (hasCode(error, 'EAGAIN')) return 0;
    throw error;
  }
}

function describeExit(code: number, signal: number): Exited {
  if (signal === 0) return { code, signal: null };
  const name = Object.entries(constants.signals).find(([, number]) => number === signal)?.[0];
  return { code: null, signal: name ?? `SIG${signal}` };
}
