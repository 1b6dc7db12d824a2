/** How jobs are told to a model and its user: short, with a bound, and a word where more is (rule 7, J12). */
import { type JobView, readSmall, readText } from '../../../jobs/index.ts';
import { LimitError } from '../../../lib/errors.ts';
import { duration } from '../../../lib/table.ts';

/** Characters of a result in a message that tells of an end. */
const END_CHARACTERS = 4_000;
/** Characters of a result that was asked for. */
export const OUTPUT_CHARACTERS = 40_000;

/** What is told when a job has ended. */
export async function endText(job: JobView): Promise<string> {
  return `${await headOf(job)}\n\n${await resultOf(job, END_CHARACTERS)}`;
}

/** `Job "x" is done, after 3 min.` */
export async function headOf({ directory, record, status, startedAt, endedAt }: JobView): Promise<string> {
  const took =
    startedAt === undefined || endedAt === undefined
      ? ''
      : `, after ${duration(Date.parse(endedAt) - Date.parse(startedAt))}`;
  const reason = status === 'done' ? undefined : await readSmall(directory, 'reason');
  const why = reason === undefined || reason === '' ? '' : ` (${reason})`;
  return `Job "${record.name}": ${status}${took}${why}.`;
}

/** The result of its latest run, at most so many characters of it. */
export async function resultOf({ directory, record }: JobView, most: number): Promise<string> {
  let text: string | undefined;
  try {
    text = await readText(directory, 'output.txt');
  } catch (error) {
    if (!(error instanceof LimitError)) throw error;
    return `Its result is too long to be read here: multi-agent output ${record.name}`;
  }
  if (text === undefined || text === '') return 'It has no result.';
  if (text.length <= most) return text;
  const rest = text.length - most;
  return `${text.slice(0, most)}\n[${rest} more characters: multi-agent output ${record.name}]`;
}
