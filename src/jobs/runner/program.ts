/** What `multi-agent-runner` does: take over a job that was handed to it, and see it to its end. */
import { closeSync, fstatSync, openSync, statSync, writeSync } from 'node:fs';
import { systemClock } from '../../lib/clock.ts';
import { EXIT, messageOf, OperationError } from '../../lib/errors.ts';
import { randomId } from '../../lib/ids.ts';
import { inheritedLock } from '../../lib/kernel-lock.ts';
import { jobFile, LOCK_FILE, LOG_FLAGS } from '../files.ts';
import type { HeldJob } from '../held-job.ts';
import { LOCK_FD } from '../launch.ts';
import { type JobDirectory, jobsPlace } from '../places.ts';
import { readRecord } from '../record.ts';
import { EXIT_CODES } from '../status.ts';
import { runJob } from './run-job.ts';

/** The exit code; nobody waits for it but whoever looks at processes. */
export async function runnerProgram(process: NodeJS.Process, home: string): Promise<number> {
  const [, , directory] = process.argv;
  if (directory === undefined) {
    process.stderr.write('multi-agent-runner is started by multi-agent, with a job directory\n');
    return EXIT.usage;
  }
  // Nobody hears it otherwise; the run then ends as `died`, and pi with its input.
  process.on('uncaughtException', (error) => {
    noteSync(directory, error);
    process.exit(EXIT_CODES.died);
  });
  const signals = signalsOf(process);
  try {
    const { status } = await runJob(await takeOver(directory, process.env, home), {
      clock: systemClock,
      ids: () => randomId(8),
      env: process.env,
      piCommand: { command: 'pi', args: [] },
      ...signals,
    });
    return EXIT_CODES[status];
  } catch (error) {
    noteSync(directory, error);
    return EXIT_CODES.died;
  }
}

async function takeOver(directory: JobDirectory, env: NodeJS.ProcessEnv, home: string): Promise<HeldJob> {
  const path = jobFile(directory, LOCK_FILE);
  const [open, there] = [fstatSync(LOCK_FD), statSync(path)];
  if (open.ino !== there.ino || open.dev !== there.dev) {
    throw new OperationError(`descriptor ${LOCK_FD} is not ${path}`);
  }
  const facts = await readRecord(directory);
  if (facts.kind !== 'job') {
    throw new OperationError(facts.kind === 'broken' ? facts.reason : `there is no job in ${directory}`);
  }
  return { place: jobsPlace(env, home), directory, record: facts.record, lock: inheritedLock(path, LOCK_FD) };
}

/** Whoever ends this process means the job (J6). */
function signalsOf(process: NodeJS.Process): { signal: AbortSignal; killSignal: AbortSignal } {
  const [abort, kill] = [new AbortController(), new AbortController()];
  process.on('SIGINT', () => abort.abort());
  process.on('SIGTERM', () => kill.abort());
  process.on('SIGHUP', () => kill.abort());
  return { signal: abort.signal, killSignal: kill.signal };
}

function noteSync(directory: JobDirectory, error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
  try {
    const log = openSync(jobFile(directory, 'runner.log'), LOG_FLAGS, 0o600);
    writeSync(log, `${new Date().toISOString()} ${text}\n`);
    closeSync(log);
  } catch {
    // The disk is full, or the job's directory is gone: its free lock says enough.
  }
}
