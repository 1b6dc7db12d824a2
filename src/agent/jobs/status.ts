import {
  askJob,
  type ControlState,
  isLive,
  type JobDirectory,
  type JobView,
  listJobs,
  NO_USAGE,
  readJob,
  readUsage,
} from '../../jobs/index.ts';
import { PiSandboxError } from '../../lib/errors.ts';
import { jsonText } from '../../lib/json-text.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { type JobContext, jobContext, jobNamed } from './context.ts';
import { jobDetails } from './job-json.ts';

/** A runner answers at once; what it does not say is left out. */
const STATE_MS = 2_000;

/** One job in full, or without a name every one that runs. */
export async function status(
  name: string | undefined,
  { json = false }: { json?: boolean },
): Promise<number> {
  const context = await jobContext();
  const views =
    name === undefined ? await running(context) : [await readJob((await jobNamed(context, name)).directory)];
  const all = await Promise.all(views.map((view) => detailsOf(context, view)));
  if (json) {
    const [first] = all;
    const facts = name === undefined ? { version: 1, jobs: all } : { version: 1, ...first };
    process.stdout.write(`${jsonText(facts, 2)}\n`);
  } else if (all.length === 0) process.stdout.write('no job is running\n');
  else process.stdout.write(all.map(textOf).join('\n'));
  return 0;
}

async function running({ place, project }: JobContext): Promise<JobView[]> {
  const { jobs } = await listJobs(place, project);
  return jobs.filter(({ status }) => isLive(status));
}

async function detailsOf(context: JobContext, view: JobView) {
  const [details, usage, state] = await Promise.all([
    jobDetails(view),
    readUsage(view.directory),
    isLive(view.status) ? stateOf(context, view.directory) : undefined,
  ]);
  return {
    ...details,
    usage: usage ?? NO_USAGE,
    /** Its place among those that wait to run (J8). */
    position: state?.position ?? null,
    dialogs: state?.dialogs ?? [],
    cancelledDialogs: state?.cancelledDialogs ?? null,
  };
}

async function stateOf(
  { place, deps }: JobContext,
  directory: JobDirectory,
): Promise<ControlState | undefined> {
  try {
    const answer = await askJob(
      place,
      directory,
      { op: 'state' },
      { clock: deps.clock, timeoutMs: STATE_MS },
    );
    return answer.ok ? answer.state : undefined;
  } catch (error) {
    // It ended meanwhile, or is busy: its files have been read.
    if (error instanceof PiSandboxError) return undefined;
    throw error;
  }
}

function textOf(job: Awaited<ReturnType<typeof detailsOf>>): string {
  const queued = job.position === null ? '' : ` (waits to run, number ${job.position})`;
  const lines: [string, string | number | null][] = [
    ['name', job.name],
    ['status', `${job.status}${queued}`],
    ['reason', job.reason],
    ['exit_code', job.exitCode],
    ['run', job.runs],
    ['started', job.startedAt],
    ['ended', job.endedAt],
    ['profile', job.profile],
    ['model', job.model],
    ['parent', job.parent],
    ['cwd', job.cwd],
    ['tokens', job.usage.tokens.total],
    ['cost', `$${job.usage.cost.toFixed(4)}`],
    ...job.dialogs.map(({ id, method, title }): [string, string] => ['dialog', `${id} ${method}: ${title}`]),
    ['directory', job.directory],
    ['status_cmd', job.status_cmd],
    ['session_cmd', job.session_cmd],
  ];
  return lines
    .filter(([, value]) => value !== null && value !== '')
    .map(([key, value]) => `${key}: ${safeForTerminal(String(value))}\n`)
    .join('');
}
