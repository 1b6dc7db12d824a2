import { readdirSync, readFileSync } from 'node:fs';
import type { SandboxStatus } from '../wire/index.ts';

/** What a status lists at most (rule 7). */
const MAX_STRAY = 100;
const MAX_COMMAND = 200;
const SCHEDULER = '/multi-agent-scheduler.mjs';

export interface ProcessInfo {
  pid: number;
  parent: number;
  /** The session's first process; a process keeps it when its parent has ended. */
  session: number;
  /** Clock ticks since boot: with the pid, the identity of a process. */
  startTime: string;
  command: string;
}

/** Every process of the container, from /proc; those that end while we read are left out. */
export function listProcesses(): ProcessInfo[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        // The name is in parentheses and may itself hold any character: count from the last one.
        const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').join(' ').trim();
        if (fields[0] === 'Z' || command === '') return [];
        const [parent, session] = [Number(fields[1]), Number(fields[3])];
        return [{ pid: Number(name), parent, session, startTime: fields[19] ?? '', command }];
      } catch {
        return [];
      }
    });
}

/** All descendants of a process, with their identities, so that a reused pid is never taken for one of them. */
export function descendantsOf(root: number, processes = listProcesses()): ProcessInfo[] {
  const found: ProcessInfo[] = [];
  const parents = [root];
  for (let parent = parents.pop(); parent !== undefined; parent = parents.pop()) {
    for (const candidate of processes) {
      if (candidate.parent !== parent) continue;
      found.push(candidate);
      parents.push(candidate.pid);
    }
  }
  return found;
}

/** Ends those of the given processes that are still the same ones: SIGTERM, and what is left then SIGKILL. */
export async function endProcesses(processes: readonly ProcessInfo[], graceMs: number): Promise<void> {
  if (processes.length === 0) return;
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const now = new Map(listProcesses().map(({ pid, startTime }) => [pid, startTime] as const));
    const alive = processes.filter(({ pid, startTime }) => now.get(pid) === startTime);
    if (alive.length === 0) return;
    for (const { pid } of alive) {
      try {
        process.kill(pid, signal);
      } catch {
        // It ended by itself.
      }
    }
    if (signal === 'SIGTERM') await new Promise((resolve) => setTimeout(resolve, graceMs));
  }
}

/**
 * Processes that belong to none of `roots`: they descend from none and are in the session of none. Something that has
 * ended started them and left them behind.
 */
export function strayProcesses(
  roots: readonly number[],
  processes = listProcesses(),
): SandboxStatus['stray'] {
  const known = new Set([1, process.pid, ...roots]);
  // The engine's exec starts processes with parent 0: the bridges of other clients are among them.
  for (const { pid, parent, command, session } of processes) {
    // What watches schedules announces itself to nobody (R10); its adder has ended, and it is where it belongs.
    if (pid === session && command.includes(SCHEDULER)) known.add(pid);
    if (roots.includes(session) || (parent === 0 && command.includes('supervisor.sock'))) known.add(pid);
  }
  for (const root of [...known].filter((pid) => pid !== 1)) {
    for (const { pid } of descendantsOf(root, processes)) known.add(pid);
  }
  return processes
    .filter(({ pid }) => !known.has(pid))
    .slice(0, MAX_STRAY)
    .map(({ pid, command }) => ({ pid, command: command.slice(0, MAX_COMMAND) }));
}
