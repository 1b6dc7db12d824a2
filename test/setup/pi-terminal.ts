/** pi's TUI in a pseudo-terminal for tests. */
import { spawn } from '@lydell/node-pty';
import { type PiWorld, piCli, until } from './pi.ts';

/** Terminal escape sequences: control, operating system command, or one character. */
const [ESC, BEL] = ['\u001b', '\u0007'];
const ESCAPES = new RegExp(`${ESC}(\\[[0-9;?<>=]*[a-zA-Z]|\\][^${BEL}${ESC}]*(${BEL}|${ESC}\\\\)|.)`, 'g');

export interface TerminalPi {
  pid: number;
  /** Waits until the text was shown after the last call; escape sequences and line breaks are taken out. */
  see(text: string): Promise<void>;
  type(text: string): void;
  kill(): Promise<void>;
}

export function startTerminalPi(world: PiWorld, args: string[]): TerminalPi {
  let output = '';
  let ended = false;
  const terminal = spawn(process.execPath, [piCli(), ...world.extensions, '--tui-mode', 'regular', ...args], {
    cols: 200,
    rows: 50,
    cwd: world.project,
    env: world.environment,
  });
  terminal.onData((data) => {
    output += data;
  });
  terminal.onExit(() => {
    ended = true;
  });
  const plain = (): string => output.replace(ESCAPES, '').replace(/[\r\n]+/g, ' ');
  let seen = 0;
  return {
    pid: terminal.pid,
    async see(text) {
      await until(`"${text}" in: ${plain().slice(-3_000)}`, () => plain().indexOf(text, seen) !== -1).catch(
        () => {
          throw new Error(`never saw "${text}" in:\n${plain().slice(seen).slice(-4_000)}`);
        },
      );
      seen = plain().indexOf(text, seen) + text.length;
    },
    type: (text) => terminal.write(text),
    async kill() {
      if (!ended) terminal.kill('SIGKILL');
      await until('the terminal to end', () => ended);
    },
  };
}
