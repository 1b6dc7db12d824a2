/** The processes of this machine (or container), as `/proc` tells of them; elsewhere as `ps` does, with less. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { hasCode } from '../../lib/errors.ts';
import { FileError } from '../../lib/file-error.ts';

/** A process id alone may be another's a moment later; with the time of its start it is one process. */
export interface ProcessFacts {
  readonly pid: number;
  readonly parent: number;
  /** When it started, in the table's own words: only ever compared. */
  readonly started: string;
}

/** Each throws FileError where the system keeps it from looking, which is not that nothing is there. */
export interface ProcessTable {
  /** All that live; what has ended and is not yet reaped is left out. */
  list(): ProcessFacts[];
  /** The same process as it is now; undefined when it has ended. */
  look(pid: number): ProcessFacts | undefined;
  /** Whether a process was there before that time of a start; false where it cannot be told. */
  isOlder(process: ProcessFacts, started: string): boolean;
  /** Variables that it was started with, `NAME=value`; undefined where they cannot be read. */
  environment(pid: number): readonly string[] | undefined;
}

/** So much of `ps`'s answer is read, for so long. */
const PS_BYTES = 16 * 1_024 * 1_024;
const PS_MS = 5_000;

export function processTable(): ProcessTable {
  return existsSync('/proc/self/stat') ? procTable : psTable;
}

const procTable: ProcessTable = {
  list: () =>
    readdirSync('/proc').flatMap((name) => (/^[1-9]\d*$/.test(name) ? (lookAt(Number(name)) ?? []) : [])),
  look: lookAt,
  // Ticks since the machine was started.
  isOlder: (process, started) => Number(process.started) < Number(started),
  environment: (pid) => read(`/proc/${pid}/environ`)?.split('\0'),
};

function lookAt(pid: number): ProcessFacts | undefined {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The program's name stands in parentheses and may itself hold some.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state = '', parent = ''] = fields;
  if (state === 'Z' || state === 'X') return undefined;
  return { pid, parent: Number(parent), started: fields[19] ?? '' };
}

/**
 * A process may end, or be another user's: then nothing can be told of it. Any other failure, such as a lack of
 * descriptors, must not make a process seem gone (J11).
 */
function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ESRCH', 'EACCES', 'EPERM')) return undefined;
    throw new FileError('read', path, error);
  }
}

/** Without `/proc` environments are not looked at: what left its parent is not found there. */
const psTable: ProcessTable = {
  list: () => ps(['-ax']),
  look: (pid) => ps(['-p', String(pid)])[0],
  isOlder: () => false,
  environment: () => undefined,
};

function ps(which: readonly string[]): ProcessFacts[] {
  let output: string;
  try {
    output = execFileSync('ps', [...which, '-o', 'pid=,ppid=,stat=,lstart='], {
      encoding: 'utf8',
      maxBuffer: PS_BYTES,
      timeout: PS_MS,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    return [];
  }
  return output.split('\n').flatMap((line) => {
    const [, pid, parent, state, started] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.+)$/.exec(line) ?? [];
    if (pid === undefined || state?.startsWith('Z')) return [];
    return { pid: Number(pid), parent: Number(parent), started: started ?? '' };
  });
}
