/** A real terminal for tests: a pseudo-terminal that runs a command, and a screen that shows what it drew. */

import { spawn } from '@lydell/node-pty';
import { Terminal as Screen } from '@xterm/headless';

const WAIT_MS = 60_000;

export interface TerminalOptions {
  env: NodeJS.ProcessEnv;
  cwd: string;
  columns?: number;
  rows?: number;
}

export interface TestTerminal {
  readonly pid: number;
  /** Sends keys as the terminal would; bytes as they are, also a part of a character. */
  type(keys: string | Uint8Array): void;
  resize(columns: number, rows: number): void;
  /** Takes nothing of what is written for so long. */
  pause(milliseconds: number): void;
  /** What the screen shows now, one line each, without trailing blanks. */
  screen(): string;
  /** What a program has set and a shell's prompt has no use for; none is left when it has ended. */
  leftModes(): string[];
  /** Every byte that was written to the terminal so far. */
  bytes(): Buffer;
  /** Resolves with the screen as soon as it shows the text; fails with the screen when it does not in time. */
  shows(text: string | RegExp, milliseconds?: number): Promise<string>;
  /** As `shows`, for what was ever written. */
  wrote(text: string | RegExp, milliseconds?: number): Promise<string>;
  /** The command's exit code. */
  exited(milliseconds?: number): Promise<number>;
  kill(signal?: string): void;
}

export function terminal(file: string, args: readonly string[], options: TerminalOptions): TestTerminal {
  const { columns = 80, rows = 24 } = options;
  const screen = new Screen({ cols: columns, rows, allowProposedApi: true, scrollback: 1_000 });
  const pty = spawn(file, [...args], {
    name: options.env.TERM ?? 'xterm-256color',
    cols: columns,
    rows,
    cwd: options.cwd,
    env: options.env,
    encoding: null,
  });
  const pieces: Buffer[] = [];
  const watchers = new Set<() => void>();
  let code: number | undefined;
  const changed = (): void => {
    for (const watcher of [...watchers]) watcher();
  };
  pty.onData((data: string | Buffer) => {
    const piece = Buffer.from(data);
    pieces.push(piece);
    screen.write(piece, changed);
  });
  // The screen answers questions (its size, its cursor) as a terminal does.
  screen.onData((answer) => pty.write(answer));
  pty.onExit(({ exitCode, signal }) => {
    code = signal ? 128 + signal : exitCode;
    screen.write('', changed);
  });

  const text = (): string => {
    const { active } = screen.buffer;
    const lines = Array.from({ length: screen.rows }, (_, at) =>
      active.getLine(active.viewportY + at)?.translateToString(true),
    );
    return lines.join('\n').trimEnd();
  };
  const written = (): string => Buffer.concat(pieces).toString('utf8');

  /** Looks after every change, never by the clock, until something is there. */
  function watch<T>(what: string, look: () => T | undefined, milliseconds: number): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const done = (settle: () => void): void => {
      clearTimeout(timer);
      watchers.delete(check);
      settle();
    };
    const check = (): void => {
      const found = look();
      if (found !== undefined) done(() => resolve(found));
    };
    const timer = setTimeout(
      () => done(() => reject(new Error(`waited too long for ${what}; the screen shows:\n${text()}`))),
      milliseconds,
    );
    watchers.add(check);
    check();
    return promise;
  }

  const matches = (content: string, wanted: string | RegExp): boolean =>
    typeof wanted === 'string' ? content.includes(wanted) : wanted.test(content);
  return {
    pid: pty.pid,
    // Its declaration knows text alone.
    type: (keys) => void Reflect.apply(pty.write, pty, [typeof keys === 'string' ? keys : Buffer.from(keys)]),
    resize(newColumns, newRows) {
      screen.resize(newColumns, newRows);
      pty.resize(newColumns, newRows);
    },
    pause(milliseconds) {
      pty.pause();
      setTimeout(() => pty.resume(), milliseconds);
    },
    screen: text,
    leftModes() {
      const { modes, buffer } = screen;
      return [
        ...(buffer.active.type === 'alternate' ? ['alternate screen'] : []),
        ...(modes.mouseTrackingMode === 'none' ? [] : [`mouse ${modes.mouseTrackingMode}`]),
        ...(modes.bracketedPasteMode ? ['bracketed paste'] : []),
        ...(modes.sendFocusMode ? ['focus'] : []),
        ...(modes.synchronizedOutputMode ? ['synchronized output'] : []),
        ...(modes.applicationCursorKeysMode ? ['application cursor keys'] : []),
      ];
    },
    bytes: () => Buffer.concat(pieces),
    shows: (wanted, milliseconds = WAIT_MS) =>
      watch(String(wanted), () => (matches(text(), wanted) ? text() : undefined), milliseconds),
    wrote: (wanted, milliseconds = WAIT_MS) =>
      watch(String(wanted), () => (matches(written(), wanted) ? written() : undefined), milliseconds),
    exited: (milliseconds = WAIT_MS) => watch('the exit', () => code, milliseconds),
    kill(signal = 'SIGKILL') {
      if (code === undefined) pty.kill(signal);
    },
  };
}
