import { watch } from 'node:fs';
import { isLive, type JobDirectory, jobEnd, jobFile, readStatus } from '../../jobs/index.ts';
import { readRegularFile } from '../../lib/bounded-read.ts';
import { jsonText } from '../../lib/json-text.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { type JobContext, jobContext, jobNamed } from './context.ts';

interface PeekOptions {
  readonly lines?: number;
  readonly follow?: boolean;
  readonly json?: boolean;
}

const DEFAULT_LINES = 20;
/** More than a `progress.log` ever has. */
const MAX_BYTES = 16 * 1_024 * 1_024;

/** The last lines of what a job does, and with `--follow` those that come until its run ends. */
export async function peek(
  name: string,
  { lines = DEFAULT_LINES, follow = false, json = false }: PeekOptions,
): Promise<number> {
  const context = await jobContext();
  const { directory } = await jobNamed(context, name);
  const log = await readLines(directory);
  const shown = lines === 0 ? [] : log.slice(-lines);
  if (json && !follow) {
    process.stdout.write(
      `${jsonText({ version: 1, name, lines: shown, omitted: log.length - shown.length }, 2)}\n`,
    );
    return 0;
  }
  print(shown, json);
  if (follow) await followLog(context, directory, log, json);
  return 0;
}

function print(lines: readonly string[], json: boolean): void {
  const text = lines.map((line) => `${json ? jsonText({ version: 1, line }) : safeForTerminal(line)}\n`);
  if (text.length > 0) process.stdout.write(text.join(''));
}

async function readLines(directory: JobDirectory): Promise<string[]> {
  const content = await readRegularFile(jobFile(directory, 'progress.log'), { maxBytes: MAX_BYTES });
  // What has no line end yet is no line yet.
  return content?.toString('utf8').split('\n').slice(0, -1) ?? [];
}

async function followLog(
  { place, deps }: JobContext,
  directory: JobDirectory,
  before: readonly string[],
  json: boolean,
): Promise<void> {
  let seen = before;
  let reading: Promise<void> = Promise.resolve();
  let queued = false;
  const look = (): void => {
    if (queued) return;
    queued = true;
    reading = reading.then(async () => {
      queued = false;
      const now = await readLines(directory);
      print(newLines(seen, now), json);
      seen = now;
    });
  };
  const watcher = watch(directory, (_, name) => {
    if (name === 'progress.log' || name === null) look();
  });
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  process.once('SIGTERM', () => stop.abort());
  process.stdout.once('error', () => stop.abort());
  try {
    look();
    if (isLive(await readStatus(directory)))
      await jobEnd(place, directory, { clock: deps.clock, signal: stop.signal });
    look();
    await reading;
  } finally {
    watcher.close();
  }
}

/** What is new in a log that only grows, or whose first part was taken away. */
export function newLines(before: readonly string[], now: readonly string[]): readonly string[] {
  const last = before.at(-1);
  if (last === undefined) return now;
  if (now[before.length - 1] === last) return now.slice(before.length);
  return now.slice(now.lastIndexOf(last) + 1);
}
