import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import type { Exited, RunRequest, SignalName, TerminalSize } from '../../wire/index.ts';

/** A program that runs for one client, in a pseudo-terminal or with pipes: the two look the same from outside. */
export interface RunningProgram {
  readonly pid: number;
  /** Settles after the last output was handed on. */
  readonly exited: Promise<Exited>;
  /** Resolves when the program has taken the bytes, or never will. */
  write(bytes: Uint8Array): Promise<void>;
  endInput(): void;
  resize(size: TerminalSize): void;
  /** To the program's process group, as a terminal would. */
  signal(name: SignalName): void;
  /** The client's own output is closed: so is the program's (S14). */
  closeOutput(stream: 'stdout' | 'stderr'): void;
  /** Ends the program as the loss of its terminal or client does. */
  hangUp(): void;
}

/** Where output goes; a returned promise holds the program's output back until it settles. */
export type OutputHandler = (stream: 'stdout' | 'stderr', bytes: Buffer) => Promise<void> | undefined;

export interface Launch {
  file: string;
  arguments: string[];
  directory: string;
  environment: NodeJS.ProcessEnv;
}

const PI = '/usr/local/bin/pi';
const SHELL = '/bin/bash';

/** What to execute for a request, or undefined when there is no such command. */
export function launchOf(request: RunRequest, environment: NodeJS.ProcessEnv): Launch | undefined {
  const common = { directory: request.directory, environment };
  switch (request.program) {
    case 'pi':
      return { file: PI, arguments: request.arguments, ...common };
    case 'shell':
      return { file: SHELL, arguments: request.arguments, ...common };
    case 'command': {
      const [name = '', ...rest] = request.arguments;
      const file = findExecutable(name, request.directory, environment.PATH ?? '');
      return file === undefined ? undefined : { file, arguments: rest, ...common };
    }
  }
}

function findExecutable(name: string, directory: string, path: string): string | undefined {
  if (name === '') return undefined;
  const candidates = name.includes('/')
    ? [resolve(directory, name)]
    : path.split(delimiter).filter(Boolean).map((entry) => resolve(entry, name));
  return candidates.find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Sends a signal to a process group, or to the process alone where there is no group; a dead one is no error. */
export function signalGroup(pid: number, name: NodeJS.Signals): void {
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, name);
      return;
    } catch {
      // ESRCH: no such group or process any more.
    }
  }
}
