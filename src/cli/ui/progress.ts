import { stripVTControlCharacters } from 'node:util';
import { ImageBuildError } from '../../engine/index.ts';

/** A line that changes in place on a terminal, and two plain lines elsewhere (rule 6). */
export interface Progress {
  show(step: string): void;
  /** Clears the line so that something else can be printed. */
  pause(): void;
  done(): void;
  /** Prints the log of a build that failed, unless its lines were printed as they came. */
  failed(error: unknown, options: { logShown: boolean }): void;
}

export function progressLine(what: string): Progress {
  const { stderr } = process;
  const terminal = stderr.isTTY;
  const started = Date.now();
  const clear = (): void => {
    if (terminal) stderr.write('\r\u001b[K');
  };
  stderr.write(terminal ? `${what} …` : `pi-sandbox: ${what}\n`);
  return {
    show(step) {
      if (!terminal) return;
      const line = `${what}: ${stripVTControlCharacters(step).replace(/\p{Cc}/gu, ' ')}`;
      const columns = Math.max(20, stderr.columns || 80);
      stderr.write(`\r\u001b[K${line.length >= columns ? `${line.slice(0, columns - 2)}…` : line}`);
    },
    pause: clear,
    done() {
      clear();
      const seconds = Math.round((Date.now() - started) / 1_000);
      stderr.write(`pi-sandbox: ${what}: done in ${seconds} s\n`);
    },
    failed(error, { logShown }) {
      clear();
      if (error instanceof ImageBuildError && !logShown) stderr.write(`${error.log.trimEnd()}\n`);
    },
  };
}
