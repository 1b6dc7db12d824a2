/** Waiting for a change of a file's directory instead of looking again and again. */
import { type FSWatcher, watch } from 'node:fs';
import type { Clock } from './clock.ts';

export interface Changes {
  /** Resolves at the first change since the call that made this, or when so much time is over; never rejects. */
  within(milliseconds: number, clock: Clock, signal: AbortSignal): Promise<void>;
  close(): void;
}

/**
 * The next change of an entry in one of these directories, from the call on. A directory that is not there, or a system that has
 * no watches left: then the time decides.
 */
export function nextChange(directories: readonly string[]): Changes {
  const watchers: FSWatcher[] = [];
  const first = new Promise<void>((settle) => {
    for (const directory of directories) {
      try {
        watchers.push(watch(directory, { persistent: false }, () => settle()).on('error', () => undefined));
      } catch (error) {
        if (!(error instanceof Error)) throw error;
      }
    }
  });
  return {
    async within(milliseconds, clock, signal) {
      const done = new AbortController();
      const both = AbortSignal.any([signal, done.signal]);
      await Promise.race([first, clock.sleep(milliseconds, both).catch(() => undefined)]);
      done.abort();
    },
    close() {
      for (const watcher of watchers) watcher.close();
    },
  };
}
