/** What a start asks for, as what a job is made of: options, profile and caller come together here. */
import { realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  agentPrompts,
  findProfile,
  type JobName,
  type JobRecord,
  type JobSpec,
  type Profile,
  parseJobName,
  placeBelow,
  proposeJobName,
} from '../../jobs/index.ts';
import { UsageError } from '../../lib/errors.ts';
import { beside, type JobContext } from './context.ts';
import { checkPiArguments } from './words.ts';

/** Of a job that says nothing else (J10). */
const DEFAULT_TIMEOUT_SECONDS = 1_800;
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
  const { caller, project, env, directory } = context;
  const profile =
    options.profile === undefined ? undefined : await findProfile(profilePlaces(context), options.profile);
  const below = placeBelow(caller, env, profile?.maxDepth);
  const ask = options.ask ?? false;
  const prompts = agentPrompts(profile, {
    project: project.directory,
    parent: caller.parent?.record.name,
    ask,
    mayStart: below.depth < below.maxDepth,
  });
  const { sessionDir } = options;
  return {
    project,
    ...nameFor(options, prompt),
    prompt,
    systemPrompt: prompts.system,
    appendPrompt: prompts.append,
    sessionDirectory: sessionDir === undefined ? undefined : resolve(directory, sessionDir),
    settings: {
      ...workingDirectory(directory, options.cwd),
      ...below,
      profile: profile?.name ?? null,
      piArgs: [...piOptions(profile, options), ...piArguments],
      runMode,
      timeoutSeconds: timeoutOf(options.timeout, profile),
      startedBySession: caller.session,
      startedByRun: null,
      ask,
      maxCost: options.maxCost ?? null,
      maxTokens: options.maxTokens ?? null,
    },
  };
}

export function profilePlaces({ project, place }: JobContext) {
  return { project, agentDir: place.agentDir, shipped: beside(PROFILES) };
}

function nameFor({ name, profile }: StartOptions, prompt: string): { name: JobName; asked: boolean } {
  if (name !== undefined) return { name: parseJobName(name), asked: true };
  const hasWords = /[a-z0-9]/i.test(prompt);
  return { name: proposeJobName(hasWords ? prompt : (profile ?? '')), asked: false };
}

function workingDirectory(from: string, given: string | undefined): { cwd: string; realCwd: string } {
  const cwd = resolve(from, given ?? '.');
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(`there is no directory ${cwd}`);
  return { cwd, realCwd: realpathSync(cwd) };
}

/** What was asked for goes before what the profile says. */
function piOptions(profile: Profile | undefined, options: StartOptions): string[] {
  const model = options.model ?? profile?.model;
  const thinking = options.thinking ?? profile?.thinking;
  const tools = options.tools ?? profile?.tools;
  return [
    ...(model === undefined ? [] : ['--model', model]),
    ...(thinking === undefined ? [] : ['--thinking', thinking]),
    ...(tools === undefined ? [] : ['--tools', tools]),
  ];
}

function timeoutOf(given: number | undefined, profile: Profile | undefined): number {
  if (given !== undefined) return given / 1_000;
  return profile?.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS;
}
