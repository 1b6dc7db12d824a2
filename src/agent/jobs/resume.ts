import { endJobProcesses, type HeldJob, type JobDirectory, reopenJob } from '../../jobs/index.ts';
import { UsageError } from '../../lib/errors.ts';
import { type JobContext, jobContext, jobNamed } from './context.ts';
import { type PromptOptions, promptOf } from './prompt.ts';
import { followToEnd, launch, printStarted } from './start.ts';

/** What a run may have otherwise than the one before it. */
interface RunOptions {
  /** Milliseconds. */
  readonly timeout?: number;
  readonly ask?: boolean;
  readonly maxCost?: number;
  readonly maxTokens?: number;
}

interface ResumeOptions extends RunOptions, PromptOptions {
  readonly wait?: boolean;
  readonly json?: boolean;
}

/** What an old pi gets before it is killed (J4). */
const OLD_PI_GRACE_MS = 5_000;

/** The next run of a job: the same conversation goes on, in the background. */
export async function resume(
  name: string,
  words: readonly string[],
  options: ResumeOptions,
): Promise<number> {
  const context = await jobContext();
  const { directory } = await jobNamed(context, name);
  const prompt = await promptOf(words, options);
  const held = await reopen(context, directory, prompt, options);
  await launch(context, held);
  if (options.wait) return followToEnd(context, directory, name, options);
  printStarted(directory, name, options);
  return 0;
}

/** @throws UsageError for the caller's own job, and what {@link reopenJob} throws */
export async function reopen(
  { place, caller, deps }: JobContext,
  directory: JobDirectory,
  prompt: string,
  options: RunOptions,
): Promise<HeldJob> {
  if (directory === caller.parent?.directory) throw new UsageError('an agent cannot resume its own job');
  const { clock } = deps;
  return reopenJob(place, directory, prompt, {
    ...deps,
    endOldProcesses: async (job) => {
      await endJobProcesses(job, { clock, graceMs: OLD_PI_GRACE_MS });
    },
    settings: {
      runMode: 'background',
      startedBySession: caller.session,
      ...(options.timeout === undefined ? {} : { timeoutSeconds: options.timeout / 1_000 }),
      ...(options.ask === undefined ? {} : { ask: options.ask }),
      ...(options.maxCost === undefined ? {} : { maxCost: options.maxCost }),
      ...(options.maxTokens === undefined ? {} : { maxTokens: options.maxTokens }),
    },
  });
}
