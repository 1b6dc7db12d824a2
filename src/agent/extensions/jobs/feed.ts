/** What the screen of `/jobs` shows, kept up to date by what runners tell and by the directory of jobs (J12). */
import { type FSWatcher, mkdirSync, watch } from 'node:fs';
import { isLive, type JobView, jobEnd, jobsDirectory, listJobs, readProgress } from '../../../jobs/index.ts';
import type { Clock } from '../../../lib/clock.ts';
import { duration } from '../../../lib/table.ts';
import type { JobsHere } from './here.ts';
import type { ScreenFacts, ScreenJob } from './screen.ts';

/** The newest are shown; more can be listed in a shell. */
const MOST_JOBS = 100;
const MOST_LINES = 50;

export interface Feed extends ScreenFacts {
  find(name: string): JobView | undefined;
  close(): void;
}

interface Shown {
  job: JobView;
  /** As its runner tells it, while it runs. */
  status: string;
  position: number | undefined;
  lines: string[];
}

/** @param onChange asks for a new frame */
export async function openFeed(
  { place, caller }: JobsHere,
  clock: Clock,
  onChange: () => void,
): Promise<Feed> {
  const closed = new AbortController();
  const shown = new Map<string, Shown>();
  let listing = false;
  let changed = false;

  /** One at a time; any number of changes meanwhile are one more. */
  async function list(): Promise<void> {
    changed = true;
    if (listing) return;
    listing = true;
    try {
      while (changed && !closed.signal.aborted) {
        changed = false;
        show((await listJobs(place, caller.project)).jobs.slice(0, MOST_JOBS));
      }
    } finally {
      listing = false;
    }
    onChange();
  }

  function show(jobs: readonly JobView[]): void {
    const newest = new Map(jobs.map((job) => [job.record.name, job]));
    for (const name of shown.keys()) if (!newest.has(name)) shown.delete(name);
    for (const [name, job] of newest) {
      const before = shown.get(name)?.job;
      // Another run, or another job of the name.
      if (before?.startedAt !== job.startedAt || before?.record.createdAt !== job.record.createdAt) add(job);
    }
  }

  function add(job: JobView): void {
    const entry: Shown = { job, status: job.status, position: undefined, lines: [] };
    shown.set(job.record.name, entry);
    if (!isLive(job.status)) return;
    void follow(entry);
    void recall(entry).catch(() => {});
  }

  /** What it has done before it was followed. */
  async function recall(entry: Shown): Promise<void> {
    const before = await readProgress(entry.job.directory, MOST_LINES);
    const last = before.at(-1);
    const since = last === undefined ? 0 : entry.lines.indexOf(last) + 1;
    entry.lines = [...before, ...entry.lines.slice(since)].slice(-MOST_LINES);
    onChange();
  }

  async function follow(entry: Shown): Promise<void> {
    try {
      const ended = await jobEnd(place, entry.job.directory, {
        clock,
        signal: closed.signal,
        onNotice(notice) {
          if (notice.event === 'progress') entry.lines = [...entry.lines, notice.line].slice(-MOST_LINES);
          if (notice.event === 'status') {
            entry.status = notice.status;
            entry.position = notice.position;
          }
          onChange();
        },
      });
      if (ended === undefined) return;
      entry.job = ended;
      entry.status = ended.status;
      onChange();
    } catch {
      // It was removed meanwhile, or cannot be read any more: the next list tells. Whatever it is, pi survives it.
      const { name } = entry.job.record;
      if (shown.get(name) === entry) shown.delete(name);
      onChange();
    }
  }

  async function look(name: string | undefined): Promise<void> {
    const entry = name === undefined ? undefined : shown.get(name);
    if (entry !== undefined && !isLive(entry.status)) await recall(entry);
  }

  const directory = jobsDirectory(place, caller.project.folder);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const watcher: FSWatcher = watch(
    directory,
    { persistent: false },
    () => void list().catch(() => undefined),
  );
  watcher.on('error', () => {});
  // The times that are shown go on.
  const ticking = setInterval(onChange, 1_000).unref();
  await list();

  return {
    jobs: () => [...shown.values()].sort(byStart).map((entry) => rowOf(entry, clock)),
    lines: (name) => shown.get(name)?.lines ?? [],
    look: (name) => void look(name).catch(() => {}),
    find: (name) => shown.get(name)?.job,
    close() {
      closed.abort();
      watcher.close();
      clearInterval(ticking);
    },
  };
}

function byStart(one: Shown, other: Shown): number {
  const begun = ({ job }: Shown): string => job.startedAt ?? job.record.createdAt;
  return begun(one) < begun(other) ? 1 : -1;
}

function rowOf({ job, status, position, lines }: Shown, clock: Clock): ScreenJob {
  const since = Date.parse(job.endedAt ?? job.startedAt ?? job.record.createdAt);
  const age = duration(Math.max(0, clock.now().getTime() - since));
  const when = isLive(status) ? `for ${age}` : `${age} ago`;
  const queue = position === undefined ? '' : `, ${position} in the queue`;
  const last = isLive(status) ? lines.at(-1) : undefined;
  return {
    name: job.record.name,
    status,
    detail: `${when}${queue}${last === undefined ? '' : `  ${last.replace(/^\S+ /, '')}`}`,
  };
}
