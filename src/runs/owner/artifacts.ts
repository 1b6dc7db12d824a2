/** What a step leaves: its result, mirrored into the run before anybody is told that it has ended (R1, R3). */
import { type JobDirectory, jobFile } from '../../jobs/index.ts';
import { writeFileAtomic } from '../../lib/atomic-file.ts';
import { readBeginning } from '../../lib/bounded-read.ts';
import { messageOf, PiSandboxError } from '../../lib/errors.ts';
import type { StepId } from '../ids.ts';
import { LIMITS } from '../limits.ts';
import { outputArtifact, type RunDirectory } from '../places.ts';

/**
 * Keeps the output of a step's job.
 *
 * @returns why the step has failed all the same: it cannot be read, or is longer than a result may be, and only its
 *   beginning is kept
 * @throws FileError when it cannot be written
 */
export async function keepOutput(
  run: RunDirectory,
  step: StepId,
  job: JobDirectory,
): Promise<string | undefined> {
  let output: Awaited<ReturnType<typeof readBeginning>>;
  try {
    output = await readBeginning(jobFile(job, 'output.txt'), LIMITS.outputBytes);
  } catch (error) {
    // An agent may have put anything there: it is its step's failure, and not its owner's.
    if (!(error instanceof PiSandboxError)) throw error;
    return `output: ${messageOf(error)}`;
  }
  if (output === undefined) return undefined;
  await writeFileAtomic(outputArtifact(run, step), output.bytes, { follow: false });
  if (output.size <= LIMITS.outputBytes) return undefined;
  return `output: it has ${output.size} bytes, ${LIMITS.outputBytes} is the most; so many are kept, all of it is in ${job}`;
}

/**
 * The beginning of an artifact as text to put into a prompt, with the path of all of it where that is longer (R4); undefined where
 * there is none.
 */
export async function insertedText(path: string): Promise<string | undefined> {
  const found = await readBeginning(path, LIMITS.insertedBytes);
  if (found === undefined) return undefined;
  const { bytes, size } = found;
  // A character that was cut is left out.
  const text = new TextDecoder('utf-8').decode(bytes, { stream: size > bytes.length });
  if (size <= bytes.length) return text;
  return `${text}\n[cut here, after ${bytes.length} of ${size} bytes; all of it is in ${path}]`;
}
