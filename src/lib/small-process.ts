import { spawn } from 'node:child_process';

/**
 * For processes of ours that wait nearly all the time, one beside every job, run and project (J15). Without these two of its
 * compilers Node takes 3 MB less for as long as it does, and what is really hot is compiled all the same. A small nursery
 * keeps it from growing with all that is said to it.
 */
const SMALL_PROCESS_FLAGS = ['--no-sparkplug', '--no-maglev', '--max-semi-space-size=1'] as const;

export interface DetachedProcess {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** An open file for all that it says. */
  readonly log: number;
  /** An open, locked file, which it takes over as descriptor 3. */
  readonly lock?: number;
}

/** Starts a process in a session of its own, and resolves when the program runs. @throws Node's own error when it does not */
export function spawnDetached({ command, args, env, log, lock }: DetachedProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...SMALL_PROCESS_FLAGS, ...args], {
      // Not the project: it may be moved, unmounted or deleted meanwhile.
      cwd: '/',
      detached: true,
      env,
      stdio: ['ignore', log, log, ...(lock === undefined ? [] : [lock])],
    });
    child.once('error', reject);
    child.once('spawn', () => {
      child.unref();
      resolve();
    });
  });
}
