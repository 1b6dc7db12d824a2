/** `status`, `wait`, `peek`, `output` and `list` of the tool: all with a bound (J12, rule 7). */
import {
  askJob,
  isLive,
  type JobView,
  listJobs,
  readJob,
  readProgress,
  waitForJobs,
} from '../../../jobs/index.ts';
import { PiSandboxError } from '../../../lib/errors.ts';
import { jobNamed } from '../../jobs/context.ts';
import { endText, headOf, OUTPUT_CHARACTERS, resultOf } from './answers.ts';
import type { Parameters, Reply } from './reply.ts';

const USUAL_LINES = 20;
const MOST_LINES = 100;
const MOST_LISTED = 50;
/** A wait that was given no time ends after this: the model then decides anew. */
const USUAL_WAIT_SECONDS = 600;

export async function status({ here, asked }: Parameters): Promise<Reply> {
  const { directory } = await jobNamed(here, asked.needed('job'));
  const job = await readJob(directory);
  if (!isLive(job.status)) return { text: await endText(job), jobs: [job] };
  const [last] = await readProgress(directory, 1);
  const lines = [await headOf(job), ...(await dialogs(here, job)), ...(last === undefined ? [] : [last])];
  return { text: lines.join('\n'), jobs: [job] };
}

/** What it waits for an answer to. One that ends in this moment has none. */
async function dialogs(
  { place }: Parameters['here'],
  { directory, status: word }: JobView,
): Promise<string[]> {
  if (word !== 'waiting') return [];
  try {
    const answer = await askJob(place, directory, { op: 'state' });
    if (!answer.ok || answer.state === undefined) return [];
    return answer.state.dialogs.map(({ method, title, message, options }) => {
      const more = [message, options?.join(' | ')].filter((text) => text !== undefined);
      return `It asks (${method}): ${[title, ...more].join(' — ')}`;
    });
  } catch (error) {
    if (!(error instanceof PiSandboxError)) throw error;
    return [];
  }
}

export async function wait({ here, teller, clock, asked, signal }: Parameters): Promise<Reply> {
  const directories = await toWaitFor({ here, asked });
  if (directories.length === 0) return { text: 'None of your jobs is running.' };
  const giveBack = teller.leaveToTool(directories);
  try {
    const seconds = asked.number('timeout') ?? USUAL_WAIT_SECONDS;
    const { ended, running } = await waitForJobs(here.place, directories, {
      clock,
      timeoutMs: seconds * 1_000,
      any: asked.flag('any'),
      ...(signal === undefined ? {} : { signal }),
    });
    const still = running.map(({ record, status: word }) => `Job "${record.name}" is still ${word}.`);
    const texts = [...(await Promise.all(ended.map(endText))), ...still];
    return { text: texts.join('\n\n'), jobs: ended };
  } finally {
    giveBack();
    for (const directory of directories) teller.follow(directory);
  }
}

async function toWaitFor({ here, asked }: Pick<Parameters, 'here' | 'asked'>): Promise<string[]> {
  const name = asked.text('job');
  if (name !== undefined) {
    const names = name.split(',').map((each) => each.trim());
    return (await Promise.all(names.map((each) => jobNamed(here, each)))).map(({ directory }) => directory);
  }
  const { jobs } = await listJobs(here.place, here.project);
  return jobs
    .filter(({ record, status: word }) => record.startedBySession === here.caller.session && isLive(word))
    .map(({ directory }) => directory);
}

export async function peek({ here, asked }: Parameters): Promise<Reply> {
  const { directory } = await jobNamed(here, asked.needed('job'));
  const lines = await readProgress(directory, Math.min(asked.number('lines') ?? USUAL_LINES, MOST_LINES));
  return { text: lines.length === 0 ? 'It has done nothing yet.' : lines.join('\n') };
}

export async function output({ here, asked }: Parameters): Promise<Reply> {
  const { directory } = await jobNamed(here, asked.needed('job'));
  const job = await readJob(directory);
  return { text: `${await headOf(job)}\n\n${await resultOf(job, OUTPUT_CHARACTERS)}`, jobs: [job] };
}

export async function listed({ here }: Parameters): Promise<Reply> {
  const { jobs, broken } = await listJobs(here.place, here.project);
  if (jobs.length === 0) return { text: 'There are no jobs in this project.' };
  const lines = jobs
    .slice(0, MOST_LISTED)
    .map(
      ({ record, status: word, startedAt }) =>
        `${record.name}: ${word}, since ${startedAt ?? record.createdAt}`,
    );
  const rest = jobs.length - lines.length;
  if (rest > 0) lines.push(`and ${rest} older ones: multi-agent list`);
  if (broken.length > 0) lines.push(`${broken.length} more cannot be read: multi-agent list`);
  return { text: lines.join('\n') };
}
