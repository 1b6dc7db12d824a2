/** `list --watch`: the listing again whenever something about it changes, without looking in between (J6). */
import { type FSWatcher, mkdirSync, watch } from 'node:fs';
import { isLive, type JobDirectory, type JobList, jobEnd, jobsDirectory } from '../../jobs/index.ts';
import type { JobContext } from './context.ts';
import { type ListOptions, textOfList } from './list-text.ts';

/** What happens at once is shown at once. */
const TOGETHER_MS = 100;
/** Running jobs that are followed one by one (rule 7); of more, starts and ends of others still show what they do. */
const MOST_FOLLOWED = 64;

const CLEAR_SCREEN = '\u001b[H\u001b[2J';

export async function watchList(
  context: JobContext,
  listing: () => Promise<JobList>,
  options: ListOptions,
): Promise<number> {
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  process.once('SIGTERM', () => stop.abort());
  process.stdout.once('error', () => stop.abort());
  const changes = changeSignal();
  const directory = jobsDirectory(context.place, context.project.folder);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const watcher = watch(directory, () => changes.tell());
  const followed = new Map<JobDirectory, () => void>();
  let shown = '';
  try {
    while (!stop.signal.aborted) {
      const found = await listing();
      const text = textOfList(context, found, options);
      if (text !== shown)
        process.stdout.write(`${process.stdout.isTTY && !options.json ? CLEAR_SCREEN : ''}${text}`);
      shown = text;
      follow(context, found, followed, changes.tell, stop.signal);
      await changes.next(stop.signal);
      await context.deps.clock.sleep(TOGETHER_MS, stop.signal).catch(() => undefined);
    }
    return 0;
  } finally {
    watcher.close();
    for (const leave of followed.values()) leave();
  }
}

/** Each running job's files, and its end, which a death does not write. */
function follow(
  { place, deps }: JobContext,
  { jobs }: JobList,
  followed: Map<JobDirectory, () => void>,
  tell: () => void,
  signal: AbortSignal,
): void {
  for (const { directory, status } of jobs) {
    if (!isLive(status) || followed.has(directory) || followed.size >= MOST_FOLLOWED) continue;
    const over = new AbortController();
    const files = watchStatus(directory, tell);
    const leave = (): void => {
      files?.close();
      over.abort();
      followed.delete(directory);
    };
    followed.set(directory, leave);
    const needs = { clock: deps.clock, signal: AbortSignal.any([signal, over.signal]) };
    void jobEnd(place, directory, needs)
      // A job that was removed, or whose record was damaged: the listing says so.
      .catch(() => undefined)
      .then(() => {
        leave();
        tell();
      });
  }
}

function watchStatus(directory: JobDirectory, tell: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(directory, (_, name) => {
      if (name === 'status' || name === null) tell();
    });
    return watcher.on('error', () => watcher.close());
  } catch {
    return undefined;
  }
}

/** Any number of changes between two looks are one. */
function changeSignal(): { tell: () => void; next(signal: AbortSignal): Promise<void> } {
  let pending = false;
  let wake: (() => void) | undefined;
  return {
    tell() {
      pending = true;
      wake?.();
    },
    async next(signal) {
      if (!pending && !signal.aborted) {
        await new Promise<void>((settle) => {
          wake = settle;
          signal.addEventListener('abort', () => settle(), { once: true });
        });
      }
      pending = false;
    },
  };
}
