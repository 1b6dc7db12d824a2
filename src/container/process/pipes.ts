import { execFile } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { Socket } from 'node:net';
import { promisify } from 'node:util';
import { randomId } from '../../lib/ids.ts';

/** A program's three streams: the descriptors that it gets, and our ends of them. */
export interface Pipes {
  forProgram: [number, number, number];
  stdin: Socket;
  stdout: Socket;
  stderr: Socket;
  /** To be called before `stdin` is ended; see {@link letReopenersThrough}. Returns how to stop. */
  letReopenersThrough: () => () => void;
}

/** A program that opens its input again after the end waits for at most so long. */
const LONGEST_PAUSE_MS = 500;

/** The names of pipes that are not open yet. Made while a start waits for other things: it takes a program. */
export interface PipeNames {
  open(): Promise<Pipes>;
  /** Removes the names, if they are still there; what is open stays so. Never rejects. */
  remove(): Promise<void>;
}

/**
 * Makes real pipes. What Node makes are sockets: a script that says `>/dev/stderr` cannot open one again, and a
 * program whose reader is gone gets another error than the SIGPIPE it expects (S14).
 *
 * @param directory in the container's memory, nobody else's
 */
export function makePipes(directory: string): PipeNames {
  const own = `${directory}/pipes-${randomId(8)}`;
  const made = makeFifos(own);
  // Told by `open`, if it comes to that.
  made.catch(() => undefined);
  const remove = async (): Promise<void> => {
    await made.catch(() => undefined);
    await rm(own, { recursive: true, force: true }).catch(() => undefined);
  };
  return {
    open: async () => {
      await made;
      const [stdin, stdout, stderr] = [
        openBoth(`${own}/0`, 'read'),
        openBoth(`${own}/1`, 'write'),
        openBoth(`${own}/2`, 'write'),
      ];
      void remove();
      return {
        forProgram: [stdin.program, stdout.program, stderr.program],
        stdin: new Socket({ fd: stdin.own, readable: false, writable: true }),
        stdout: new Socket({ fd: stdout.own, readable: true, writable: false }),
        stderr: new Socket({ fd: stderr.own, readable: true, writable: false }),
        letReopenersThrough: () => letReopenersThrough(stdin.own),
      };
    },
    remove,
  };
}

/**
 * A program that opens `/dev/stdin` once more after its input has ended would wait for a writer for ever: a named pipe
 * is not like a nameless one in that alone. So a writer comes and goes from time to time, which lets it through to the
 * end of input, for as long as the program lives.
 */
function letReopenersThrough(own: number): () => void {
  // A reader's end that stays, so that the pipe can be found again; nothing is written any more.
  const kept = openSync(`/proc/self/fd/${own}`, constants.O_RDONLY | constants.O_NONBLOCK);
  let pause = 10;
  const comeAndGo = (): void => {
    closeSync(openSync(`/proc/self/fd/${kept}`, constants.O_WRONLY | constants.O_NONBLOCK));
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    timer = setTimeout(comeAndGo, pause);
  };
  let timer = setTimeout(comeAndGo, pause);
  return () => {
    clearTimeout(timer);
    closeSync(kept);
  };
}

async function makeFifos(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const names = ['0', '1', '2'].map((name) => `${directory}/${name}`);
  await promisify(execFile)('mkfifo', ['-m', '600', ...names]);
}

/** The program's end must block as it expects, ours must not; with both ends open no open waits for another. */
function openBoth(path: string, forProgram: 'read' | 'write'): { program: number; own: number } {
  const both = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  try {
    const [its, ours] =
      forProgram === 'read'
        ? [constants.O_RDONLY, constants.O_WRONLY]
        : [constants.O_WRONLY, constants.O_RDONLY];
    return { program: openSync(path, its), own: openSync(path, ours | constants.O_NONBLOCK) };
  } finally {
    closeSync(both);
  }
}
