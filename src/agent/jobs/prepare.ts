/** What the command line asks for, as what a job is made of. */
import { resolve } from 'node:path';
import {
  type JobName,
  type JobRecord,
  type JobSpec,
  jobSpec,
  parseJobName,
  placeBelow,
  proposeJobName,
} from '../../jobs/index.ts';
import { beside, type JobContext } from './context.ts';
import { checkPiArguments } from './words.ts';

const PROFILES = 'profiles';

export interface StartOptions {
  readonly name?: string;
  readonly profile?: string;
  readonly model?: string;
  readonly thinking?: string;
  readonly tools?: string;
  readonly cwd?: string;
  /** Milliseconds. */
  readonly timeout?: number;
  readonly sessionDir?: string;
  readonly ask?: boolean;
  readonly maxCost?: number;
  readonly maxTokens?: number;
}

/** @throws UsageError, ConfigError, DepthLimitError, InvalidJobNameError */
export async function prepareJob(
  context: JobContext,
  {
    prompt,
    piArguments,
    runMode,
  }: { prompt: string; piArguments: readonly string[]; runMode: JobRecord['runMode'] },
  options: StartOptions,
): Promise<JobSpec> {
  checkPiArguments(piArguments);
  const { caller, env, directory } = context;
  const { sessionDir, timeout } = options;
  return jobSpec(profilePlaces(context), {
    ...nameFor(options, prompt),
    prompt,
    piArguments,
    runMode,
    cwd: resolve(directory, options.cwd ?? '.'),
    profile: options.profile,
    model: options.model,
    thinking: options.thinking,
    tools: options.tools,
    timeoutSeconds: timeout === undefined ? undefined : timeout / 1_000,
    sessionDirectory: sessionDir === undefined ? undefined : resolve(directory, sessionDir),
    parent: caller.parent?.record.name,
    below: (profileMaxDepth) => placeBelow(caller, env, profileMaxDepth),
    startedBySession: caller.session,
    startedByRun: null,
    ask: options.ask ?? false,
    maxCost: options.maxCost ?? null,
    maxTokens: options.maxTokens ?? null,
  });
}

export function profilePlaces({ project, place }: JobContext) {
  return { project, agentDir: place.agentDir, shipped: beside(PROFILES) };
}

function nameFor({ name, profile }: StartOptions, prompt: string): { name: JobName; asked: boolean } {
  if (name !== undefined) return { name: parseJobName(name), asked: true };
  const hasWords = /[a-z0-9]/i.test(prompt);
  return { name: proposeJobName(hasWords ? prompt : (profile ?? '')), asked: false };
}
