import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { OperationError } from '../../lib/errors.ts';
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
  /** To the program's process group, as a terminal would; nothing once it has ended. */
  signal(name: SignalName): void;
  /** The client's own output is closed: so is the program's (S14). */
  closeOutput(stream: 'stdout' | 'stderr'): void;
  /** Ends the program as the loss of its terminal or client does. */
  hangUp(): void;
}

/** Where output goes; a returned promise holds the program's output back until it settles. */
export type OutputHandler = (stream: 'stdout' | 'stderr', bytes: Buffer) => Promise<void> | undefined;

export interface Launch {
  /** A path, or a name that the environment's PATH leads to: the program sees it as it was typed (S15). */
  file: string;
  arguments: string[];
  directory: string;
  environment: NodeJS.ProcessEnv;
  /** A program that ignores the loss of its client gets this long before it is killed. */
  hangUpGraceMs: number;
}

/** Where the programs of a sandbox are, and how long a lost one may take to end. */
export interface ProgramPlaces {
  pi: string;
  shell: string;
  hangUpGraceMs: number;
}

export const SANDBOX_PROGRAMS: ProgramPlaces = {
  pi: '/usr/local/bin/pi',
  shell: '/bin/bash',
  hangUpGraceMs: 10_000,
};

/**
 * What to execute for a request, or undefined when there is no such command.
 *
 * @throws OperationError when the working directory is not there
 */
export function launchOf(
  request: RunRequest,
  environment: NodeJS.ProcessEnv,
  places: ProgramPlaces,
): Launch | undefined {
  const { directory } = request;
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new OperationError(`there is no directory ${directory} in the sandbox`, {
      hint: 'was it removed? a sandbox sees its project, and what --mount names',
    });
  }
  const common = { directory, environment, hangUpGraceMs: places.hangUpGraceMs };
  switch (request.program) {
    case 'pi':
      return { file: places.pi, arguments: request.arguments, ...common };
    case 'shell':
      return { file: places.shell, arguments: request.arguments, ...common };
    case 'command': {
      const [name = '', ...rest] = request.arguments;
      const found = isThere(name, directory, environment.PATH ?? '');
      return found ? { file: name, arguments: rest, ...common } : undefined;
    }
  }
}

/** Looked for here only to be told from a program that fails: the kernel's own search is the one that counts. */
function isThere(name: string, directory: string, path: string): boolean {
  if (name === '') return false;
  const candidates = name.includes('/')
    ? [resolve(directory, name)]
    : path
        .split(delimiter)
        .filter(Boolean)
        .map((entry) => resolve(directory, entry, name));
  return candidates.some(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/**
 * The same launch without descriptors that this process cannot keep from its children. A shell closes them and then
 * becomes the program; -p: it reads no start-up file and no functions from the environment.
 */
export function withoutDescriptors(launch: Launch, descriptors: readonly number[]): Launch {
  if (descriptors.length === 0) return launch;
  const script = `exec ${descriptors.map((fd) => `${fd}>&-`).join(' ')}; exec -- "$0" "$@"`;
  return { ...launch, file: '/bin/bash', arguments: ['-pc', script, launch.file, ...launch.arguments] };
}

/** Sends a signal to a process group, or to the process alone where there is no group; a dead one is no error. */
export function signalGroup(pid: number, name: NodeJS.Signals): void {
  signalOne(-pid, name) || signalOne(pid, name);
}

/** 0, 1 and their negatives mean this process's own group, the init and everybody: never signalled (S14). */
export function signalOne(target: number, name: NodeJS.Signals): boolean {
  if (Math.abs(target) <= 1 || Math.abs(target) === process.pid) return false;
  try {
    return process.kill(target, name);
  } catch {
    // ESRCH: no such group or process any more. EPERM: not ours to end.
    return false;
  }
}

/** Asks with one signal, and kills what is still there when the grace time is over. */
export function endWithGrace(pid: number, name: NodeJS.Signals, ended: () => boolean, graceMs: number): void {
  if (ended()) return;
  signalGroup(pid, name);
  setTimeout(() => {
    if (!ended()) signalGroup(pid, 'SIGKILL');
  }, graceMs).unref();
}
