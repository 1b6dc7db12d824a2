import {
  EXIT_CODES,
  isLive,
  type JobDirectory,
  type JobView,
  listJobs,
  waitForJobs,
} from '../../jobs/index.ts';
import { EXIT, UsageError } from '../../lib/errors.ts';
import { jsonText } from '../../lib/json-text.ts';
import { type JobContext, jobContext, jobNamed } from './context.ts';
import { jobJson } from './job-json.ts';

interface WaitVerbOptions {
  readonly any?: boolean;
  /** Milliseconds. */
  readonly timeout?: number;
  readonly json?: boolean;
}

/** Waits for jobs and changes nothing: 0 when all are done, 1 when one is not, 3 when the time was over first. */
export async function wait(
  names: readonly string[],
  { any = false, timeout, json = false }: WaitVerbOptions,
): Promise<number> {
  const context = await jobContext();
  const directories = names.length === 0 ? await runningOf(context) : await named(context, names);
  const { clock } = context.deps;
  const { ended, running, timedOut } = await waitForJobs(context.place, directories, {
    clock,
    any,
    timeoutMs: timeout,
  });
  if (json) {
    const facts = { version: 1, ended: ended.map(jobJson), running: running.map(jobJson), timedOut };
    process.stdout.write(`${jsonText(facts, 2)}\n`);
  } else {
    for (const { record, status } of ended) process.stdout.write(`${record.name} ${status}\n`);
  }
  if (timedOut) {
    const names = running.map(({ record }) => record.name).join(', ');
    process.stderr.write(`multi-agent: still running: ${names}\n`);
    return EXIT.timeout;
  }
  return ended.every(({ status }) => EXIT_CODES[status] === 0) ? 0 : EXIT.failed;
}

/** An agent waits for those that it started: one that waited for all of its project would wait for itself. */
async function runningOf({ place, project, caller }: JobContext): Promise<JobDirectory[]> {
  const { jobs } = await listJobs(place, project);
  const isMine = ({ record }: JobView): boolean =>
    caller.parent === undefined || record.parentJob === caller.parent.directory;
  return jobs.filter((job) => isLive(job.status) && isMine(job)).map(({ directory }) => directory);
}

async function named(context: JobContext, names: readonly string[]): Promise<JobDirectory[]> {
  const directories = [];
  for (const name of new Set(names)) {
    const { directory } = await jobNamed(context, name);
    if (directory === context.caller.parent?.directory)
      throw new UsageError('an agent cannot wait for its own end');
    directories.push(directory);
  }
  return directories;
}
