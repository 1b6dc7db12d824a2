import {
  below,
  endDeadJob,
  isLive,
  type JobDirectory,
  JobNotRunningError,
  listJobs,
} from '../../jobs/index.ts';
import { messageOf, PiSandboxError, UsageError } from '../../lib/errors.ts';
import { jsonText } from '../../lib/json-text.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { ask } from './asking.ts';
import { type JobContext, jobContext, jobNamed } from './context.ts';

interface StopOptions {
  readonly tree?: boolean;
  readonly json?: boolean;
}

interface Stopped {
  readonly name: string;
  /** How its run ended; null: it could not be stopped, and `reason` says why. */
  readonly status: string | null;
  readonly reason: string | null;
}

/** While some are stopped others may be started; so often it is looked again. */
const MOST_PASSES = 8;

/** Ends the run of a job, by the end of its turn or of its pi, and says how it ended (J6). */
export async function stop(
  op: 'abort' | 'kill',
  name: string,
  { tree = false, json = false }: StopOptions,
): Promise<number> {
  const context = await jobContext();
  const { directory } = await jobNamed(context, name);
  if (directory === context.caller.parent?.directory) throw new UsageError(`an agent cannot ${op} itself`);
  if (tree && (await isBelow(context, directory)))
    throw new UsageError(`an agent cannot ${op} the tree that it is in`, {
      hint: `${op} without --tree ends that one job; the jobs that this agent started are reached by their own names`,
    });
  const stopped = tree ? await stopBelow(context, op, directory) : [];
  try {
    stopped.push(await stopOne(context, op, directory, name));
  } catch (error) {
    // A job that has ended may have had children that go on: with them ended, all is as it was wanted.
    if (stopped.length === 0 || !(error instanceof JobNotRunningError)) throw error;
  }
  if (json) process.stdout.write(`${jsonText({ version: 1, jobs: stopped }, 2)}\n`);
  for (const { name: job, status, reason } of json ? [] : stopped) {
    if (status !== null) process.stdout.write(`${job} ${status}\n`);
    else process.stderr.write(`multi-agent: ${safeForTerminal(reason ?? job)}\n`);
  }
  return stopped.some(({ status }) => status === null) ? 1 : 0;
}

/**
 * One that has died has no runner to be asked, and may have left processes: a kill ends those.
 *
 * @throws JobNotRunningError when there is nothing to be ended
 */
async function stopOne(
  context: JobContext,
  op: 'abort' | 'kill',
  directory: JobDirectory,
  name: string,
): Promise<Stopped> {
  try {
    const { status = 'ended' } = await ask(context, directory, name, { op });
    return { name, status, reason: null };
  } catch (error) {
    if (op === 'abort' || !(error instanceof JobNotRunningError)) throw error;
    const { ended, survivors } = await endDeadJob(directory, context.deps);
    if (survivors.length > 0)
      return { name, status: null, reason: `job "${name}" has died, and processes of it cannot be ended` };
    if (ended === 0) throw error;
    return { name, status: 'died', reason: 'what it had left running is ended' };
  }
}

/** Whether the calling agent is among those below a job: it would end itself before the others. */
async function isBelow({ place, project, caller }: JobContext, directory: string): Promise<boolean> {
  const { parent } = caller;
  if (parent === undefined) return false;
  const { jobs } = await listJobs(place, project);
  return below(jobs, directory).some((job) => job.directory === parent.directory);
}

/** The deepest first, so that none is there to see its children fail. */
async function stopBelow(context: JobContext, op: 'abort' | 'kill', directory: string): Promise<Stopped[]> {
  const stopped: Stopped[] = [];
  const tried = new Set<string>();
  for (let pass = 1; pass <= MOST_PASSES; pass++) {
    const { jobs } = await listJobs(context.place, context.project);
    const running = below(jobs, directory).filter(
      ({ status, directory: job }) =>
        (isLive(status) || (op === 'kill' && status === 'died')) && !tried.has(job),
    );
    if (running.length === 0) break;
    for (const job of running) {
      tried.add(job.directory);
      const { name } = job.record;
      try {
        stopped.push(await stopOne(context, op, job.directory, name));
      } catch (error) {
        if (!(error instanceof PiSandboxError)) throw error;
        // Its own end came first.
        if (!(error instanceof JobNotRunningError))
          stopped.push({ name, status: null, reason: messageOf(error) });
      }
    }
  }
  return stopped;
}
