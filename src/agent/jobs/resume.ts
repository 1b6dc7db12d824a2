import { endJobProcesses, reopenJob } from '../../jobs/index.ts';
import { UsageError } from '../../lib/errors.ts';
import { jobContext, jobNamed } from './context.ts';
import { type PromptOptions, promptOf } from './prompt.ts';
import { followToEnd, launch, printStarted } from './start.ts';

interface ResumeOptions extends PromptOptions {
  /** Milliseconds. */
  readonly timeout?: number;
  readonly ask?: boolean;
  readonly maxCost?: number;
  readonly maxTokens?: number;
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
  if (directory === context.caller.parent?.directory)
    throw new UsageError('an agent cannot resume its own job');
  const prompt = await promptOf(words, options);
  const { clock } = context.deps;
  const held = await reopenJob(context.place, directory, prompt, {
    ...context.deps,
    endOldProcesses: async (job) => {
      await endJobProcesses(job, { clock, graceMs: OLD_PI_GRACE_MS });
    },
    settings: {
      runMode: 'background',
      startedBySession: context.caller.session,
      ...(options.timeout === undefined ? {} : { timeoutSeconds: options.timeout / 1_000 }),
      ...(options.ask === undefined ? {} : { ask: options.ask }),
      ...(options.maxCost === undefined ? {} : { maxCost: options.maxCost }),
      ...(options.maxTokens === undefined ? {} : { maxTokens: options.maxTokens }),
    },
  });
  await launch(context, held);
  if (options.wait) return followToEnd(context, directory, name, options);
  printStarted(directory, name, options);
  return 0;
}
