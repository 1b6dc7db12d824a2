/** What jobs have used, as the usage of the tool's call: pi adds it to the Session's own (J12). */
import {
  addUsage,
  below,
  type JobView,
  listJobs,
  NO_USAGE,
  readUsage,
  type Usage,
  usageSince,
  type WrittenUsage,
  writtenUsage,
} from '../../../jobs/index.ts';
import type { ModelUsage } from '../../../pi/index.ts';
import type { JobsHere } from './here.ts';
import type { Told } from './told.ts';

export interface NestedUsage {
  readonly usage: ModelUsage | undefined;
  /** For the details of the result, which remember it. */
  readonly charged: Readonly<Record<string, WrittenUsage>>;
}

const NOTHING: NestedUsage = { usage: undefined, charged: {} };

/** Of jobs that this Session started, with those below them, what was not reported before. */
export async function nestedUsage(
  here: JobsHere,
  told: Told,
  asked: readonly JobView[],
): Promise<NestedUsage> {
  const mine = asked.filter(({ record }) => record.startedBySession === here.caller.session);
  return mine.length === 0 ? NOTHING : usageOf(here, told, () => mine);
}

/** Of the jobs that are a run's steps, with those below them. */
export function runUsage(here: JobsHere, told: Told, runId: string): Promise<NestedUsage> {
  return usageOf(here, told, (jobs) => jobs.filter(({ record }) => record.startedByRun === runId));
}

async function usageOf(
  { place, project }: Pick<JobsHere, 'place' | 'project'>,
  told: Told,
  choose: (jobs: readonly JobView[]) => readonly JobView[],
): Promise<NestedUsage> {
  const { jobs } = await listJobs(place, project);
  const mine = choose(jobs);
  const all = new Map(
    mine.flatMap((job) => [job, ...below(jobs, job.directory)]).map((job) => [job.directory, job]),
  );
  let sum = NO_USAGE;
  const charged: Record<string, WrittenUsage> = {};
  for (const [directory, { record }] of all) {
    // Another job may have the name of one that was removed.
    const key = `${directory} ${record.createdAt}`;
    const now = await readUsage(directory);
    if (now === undefined) continue;
    const more = usageSince(told.charged(key), now);
    if (more.tokens.total === 0 && more.cost === 0) continue;
    sum = addUsage(sum, more);
    told.charge(key, now);
    charged[key] = writtenUsage(now);
  }
  return { usage: Object.keys(charged).length === 0 ? undefined : modelUsage(sum), charged };
}

/** Only the whole cost is known; pi shows no more of it either. */
function modelUsage({ tokens, cost }: Usage): ModelUsage {
  const { input, output, cacheRead, cacheWrite, total } = tokens;
  const parts = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  return { input, output, cacheRead, cacheWrite, totalTokens: total, cost: { ...parts, total: cost } };
}
