/** Processes of a state directory's jobs, as `/proc` tells of them. It shares no code with the room. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';

export interface Process {
  readonly pid: number;
  readonly words: readonly string[];
  /** Directory of the job that it is a part of. */
  readonly job: string | undefined;
}

/** Every process that was started with this state directory, and has not ended. */
export function processesOf(state: string): Process[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const environment = readFileSync(`/proc/${name}/environ`, 'utf8').split('\0');
      if (!environment.includes(`XDG_STATE_HOME=${state}`)) return [];
      const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
      const job = environment.find((variable) => variable.startsWith('MULTI_AGENT_JOB='));
      return [{ pid: Number(name), words, job: job?.slice('MULTI_AGENT_JOB='.length) }];
    } catch {
      // It has just ended.
      return [];
    }
  });
}

/** A command or a runner of ours. */
export function isOurs({ words, job }: Process): boolean {
  return job === undefined && words.some((word) => /^multi-agent(?:-runner)?\.mjs$/.test(basename(word)));
}

/** Only what the scene itself has started can have its state directory in the environment. */
export function endEverything(state: string): void {
  for (let rounds = 0; rounds < 20; rounds++) {
    const found = processesOf(state);
    if (found.length === 0) return;
    for (const { pid } of found) kill(pid);
  }
}

/** @returns false when it had ended */
export function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}
