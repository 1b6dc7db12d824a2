import type { Exited } from '../../wire/index.ts';
import type { TerminalSize } from '../../wire/index.ts';
import { type Launch, type OutputHandler, type RunningProgram, signalGroup } from './program.ts';

/** A program that ignores the loss of its terminal gets this long before it is ended. */
const HANG_UP_GRACE_MS = 10_000;

/**
 * Runs a program in a pseudo-terminal inside the sandbox (H1 without its mirror, S20): it has its size before the
 * first byte, and nothing between it and the user's terminal looks for detach keys.
 */
export async function runInTerminal(
  launch: Launch,
  size: TerminalSize,
  output: OutputHandler,
): Promise<RunningProgram> {
  const { spawn } = await import('@lydell/node-pty');
  const terminal = spawn(launch.file, launch.arguments, {
    name: launch.environment.TERM ?? 'xterm-256color',
    cols: size.columns,
    rows: size.rows,
    cwd: launch.directory,
    env: launch.environment,
    // Bytes, never text: a character or an escape sequence may be split between two reads.
    encoding: null,
  });
  // Its type knows text only, its code takes bytes as well.
  const input: { write(data: string | Buffer): void } = terminal;
  let ended = false;
  const exited = new Promise<Exited>((resolve) => {
    terminal.onExit(({ exitCode, signal }) => {
      ended = true;
      const name = signal === undefined || signal === 0 ? null : signalName(signal);
      resolve({ code: name === null ? exitCode : null, signal: name });
    });
  });
  terminal.onData((data: string | Buffer) => {
    const held = output('stdout', typeof data === 'string' ? Buffer.from(data, 'utf8') : data);
    if (held === undefined) return;
    terminal.pause();
    void held.then(() => {
      if (!ended) terminal.resume();
    });
  });

  return {
    pid: terminal.pid,
    exited,
    write: (bytes) => {
      if (!ended) input.write(Buffer.from(bytes));
      return Promise.resolve();
    },
    // The end of a terminal's input is a key the user presses, never the end of a stream.
    endInput: () => undefined,
    resize: ({ columns, rows }) => {
      if (!ended) terminal.resize(columns, rows);
    },
    signal: (name) => signalGroup(terminal.pid, name),
    closeOutput: () => signalGroup(terminal.pid, 'SIGHUP'),
    hangUp: () => {
      if (ended) return;
      signalGroup(terminal.pid, 'SIGHUP');
      const timer = setTimeout(() => {
        if (!ended) signalGroup(terminal.pid, 'SIGKILL');
      }, HANG_UP_GRACE_MS);
      void exited.then(() => clearTimeout(timer));
    },
  };
}

const SIGNAL_NAMES: Record<number, string> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  3: 'SIGQUIT',
  6: 'SIGABRT',
  9: 'SIGKILL',
  11: 'SIGSEGV',
  13: 'SIGPIPE',
  15: 'SIGTERM',
};

function signalName(number: number): string {
  return SIGNAL_NAMES[number] ?? `SIG${number}`;
}
