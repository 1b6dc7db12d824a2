import { createJob, launchRunner, waitForJobs } from '../../jobs/index.ts';
import { jsonText } from '../../lib/json-text.ts';
import { beside, type JobContext, jobContext } from './context.ts';
import { commandsFor } from './job-json.ts';
import { prepareJob, type StartOptions } from './prepare.ts';
import { type PromptOptions, promptOf } from './prompt.ts';
import { printResult } from './result.ts';

export interface StartVerbOptions extends StartOptions, PromptOptions {
  readonly wait?: boolean;
  readonly json?: boolean;
}

/** Starts a job in the background; with `--wait` its end is the command's. */
export async function start(
  words: readonly string[],
  piArguments: readonly string[],
  options: StartVerbOptions,
): Promise<number> {
  const context = await jobContext();
  const prompt = await promptOf(words, options);
  const spec = await prepareJob(context, { prompt, piArguments, runMode: 'background' }, options);
  const held = await createJob(context.place, spec, context.deps);
  await launch(context, held);
  const { name } = held.record;
  if (options.wait) return followToEnd(context, held.directory, name, options);
  printStarted(held.directory, name, options);
  return 0;
}

/** Hands a job to a runner of its own. @throws RunnerStartError; the job has failed then */
export function launch({ env, deps }: JobContext, held: Parameters<typeof launchRunner>[0]): Promise<void> {
  const runner = { command: process.execPath, args: [beside('multi-agent-runner.mjs')] };
  return launchRunner(held, { clock: deps.clock, env, runner });
}

export function printStarted(directory: string, name: string, { json = false }: { json?: boolean }): void {
  const commands = commandsFor(name);
  const text = json
    ? jsonText({ version: 1, name, directory, ...commands }, 2)
    : `name: ${name}\nstatus_cmd: ${commands.status_cmd}\nsession_cmd: ${commands.session_cmd}`;
  process.stdout.write(`${text}\n`);
}

/** The name goes to standard error first, for whoever has to end the wait and wants to know what goes on. */
export async function followToEnd(
  { place, deps }: JobContext,
  directory: string,
  name: string,
  options: { json?: boolean },
): Promise<number> {
  process.stderr.write(`name: ${name}\n`);
  await waitForJobs(place, [directory], { clock: deps.clock });
  return printResult(directory, options);
}
