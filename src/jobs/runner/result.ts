/** Writing how a run ended: all of it, and `exit_code` last, which commits the run (J2). */
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/errors.ts';
import { appendLog, writeSmall, writeText } from '../files.ts';
import type { JobDirectory } from '../places.ts';
import { EXIT_CODES } from '../status.ts';
import type { RunEnd } from './life.ts';

export interface Result {
  /** The model's last words. */
  readonly output: string;
  /** The end of what pi wrote to standard error. */
  readonly stderr: string;
}

/**
 * Commits a run. A result that cannot be written makes it a failure; if not even that can be written, no `exit_code` is,
 * and readers find that the job has died: never that it is done (J11).
 *
 * @returns the end that was committed
 * @throws FileError when it could not be committed
 */
export async function commitRun(
  directory: JobDirectory,
  clock: Clock,
  { output, stderr }: Result,
  end: RunEnd,
): Promise<RunEnd> {
  const [written] = await Promise.allSettled([
    writeText(directory, 'output.txt', output),
    writeSmall(directory, 'ended_at', clock.now().toISOString()),
    // Told where it can be; what became of the run does not depend on it.
    stderr === '' ? undefined : appendLog(directory, 'stderr.txt', stderr),
  ]);
  const committed: RunEnd =
    written.status === 'fulfilled'
      ? end
      : { status: 'failed', reason: `not-written: ${messageOf(written.reason)}` };
  await Promise.all([
    writeSmall(directory, 'reason', committed.reason.replace(/\s+/g, ' ').slice(0, MAX_REASON)),
    writeSmall(directory, 'status', committed.status),
  ]);
  await writeSmall(directory, 'exit_code', String(EXIT_CODES[committed.status]));
  return committed;
}

const MAX_REASON = 1_000;
