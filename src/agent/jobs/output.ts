import { isLive, JobRunningError, readJob, readText } from '../../jobs/index.ts';
import { jsonText } from '../../lib/json-text.ts';
import { jobContext, jobNamed } from './context.ts';
import { printOutput } from './result.ts';

/** The result of the latest run, alone. */
export async function output(name: string, { json = false }: { json?: boolean }): Promise<number> {
  const { directory } = await jobNamed(await jobContext(), name);
  const { status } = await readJob(directory);
  if (isLive(status)) throw new JobRunningError(name, 'asked for its result');
  const text = (await readText(directory, 'output.txt')) ?? '';
  if (json) process.stdout.write(`${jsonText({ version: 1, name, status, output: text }, 2)}\n`);
  else printOutput(text);
  return 0;
}
