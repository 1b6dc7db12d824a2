/** The end of a job as `run` and the verbs with `--wait` print it. */
import { EXIT_CODES, type JobDirectory, readJob, readSmall, readText } from '../../jobs/index.ts';
import { jsonText } from '../../lib/json-text.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { jobDetails } from './job-json.ts';

/**
 * Prints the result on standard output, and how it ended on standard error where that was not well; the exit code.
 *
 * @param options `printed`: the result is there already
 */
export async function printResult(
  directory: JobDirectory,
  { json = false, printed = false }: { json?: boolean; printed?: boolean },
): Promise<number> {
  const view = await readJob(directory);
  const output = (await readText(directory, 'output.txt')) ?? '';
  if (json) {
    process.stdout.write(`${jsonText({ version: 1, ...(await jobDetails(view)), output }, 2)}\n`);
    return EXIT_CODES[view.status];
  }
  if (!printed) printOutput(output);
  if (view.status !== 'done') {
    const reason = (await readSmall(directory, 'reason')) ?? 'its runner is gone';
    process.stderr.write(
      `multi-agent: job ${view.record.name} ${endWords(view.status)}: ${safeForTerminal(reason)}\n`,
    );
  }
  return EXIT_CODES[view.status];
}

export function printOutput(output: string): void {
  process.stdout.write(printable(output));
}

/** A program gets the text as it is; a terminal gets nothing that it would obey. A last line is ended. */
export function printable(output: string): string {
  const text = process.stdout.isTTY ? safeForTerminal(output, { lines: true }) : output;
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

function endWords(status: string): string {
  switch (status) {
    case 'failed':
      return 'has failed';
    case 'died':
      return 'has died';
    case 'timed-out':
      return 'ran out of time';
    default:
      return `was ${status}`;
  }
}
