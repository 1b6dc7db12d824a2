/** What a start asks for, as what a job is made of: its settings and what its profile says come together here (J7). */
import { realpathSync, statSync } from 'node:fs';
import { UsageError } from '../lib/errors.ts';
import type { JobSpec } from './create.ts';
import type { JobName } from './names.ts';
import { agentPrompts } from './profiles/agent-prompt.ts';
import { findProfile, type ProfilePlaces } from './profiles/find.ts';
import type { Profile } from './profiles/profile.ts';
import type { JobRecord } from './record.ts';

/** Of a job that says nothing else (J10). */
const DEFAULT_TIMEOUT_SECONDS = 1_800;

export interface JobRequest
  extends Pick<JobRecord, 'runMode' | 'startedBySession' | 'startedByRun' | 'ask' | 'maxCost' | 'maxTokens'> {
  readonly prompt: string;
  /** `asked`: exactly this one; else with a number behind it where it is taken. */
  readonly name: JobName;
  readonly asked: boolean;
  /** Where it works, absolute, as its user spells it. */
  readonly cwd: string;
  readonly profile: string | undefined;
  /** These three go before what the profile says. */
  readonly model: string | undefined;
  readonly thinking: string | undefined;
  readonly tools: string | undefined;
  readonly piArguments: readonly string[];
  /** Without it the profile's. */
  readonly timeoutSeconds: number | undefined;
  readonly sessionDirectory: string | undefined;
  /** Name of the job that starts it. */
  readonly parent: string | undefined;
  /** Where it stands among agents (J8). */
  readonly below: (
    profileMaxDepth: number | undefined,
  ) => Pick<JobRecord, 'parentJob' | 'depth' | 'maxDepth'>;
}

/** @throws UsageError, ConfigError, ProfileError, DepthLimitError */
export async function jobSpec(places: ProfilePlaces, request: JobRequest): Promise<JobSpec> {
  const { project } = places;
  const profile = request.profile === undefined ? undefined : await findProfile(places, request.profile);
  const below = request.below(profile?.maxDepth);
  const prompts = agentPrompts(profile, {
    project: project.directory,
    parent: request.parent,
    ask: request.ask,
    mayStart: below.depth < below.maxDepth,
  });
  return {
    project,
    name: request.name,
    asked: request.asked,
    prompt: request.prompt,
    systemPrompt: prompts.system,
    appendPrompt: prompts.append,
    sessionDirectory: request.sessionDirectory,
    settings: {
      ...workingDirectory(request.cwd),
      ...below,
      profile: profile?.name ?? null,
      piArgs: [...piOptions(profile, request), ...request.piArguments],
      runMode: request.runMode,
      timeoutSeconds: request.timeoutSeconds ?? profile?.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS,
      startedBySession: request.startedBySession,
      startedByRun: request.startedByRun,
      ask: request.ask,
      maxCost: request.maxCost,
      maxTokens: request.maxTokens,
    },
  };
}

function workingDirectory(cwd: string): { cwd: string; realCwd: string } {
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(`there is no directory ${cwd}`);
  return { cwd, realCwd: realpathSync(cwd) };
}

/** What was asked for goes before what the profile says. */
function piOptions(
  profile: Profile | undefined,
  request: Pick<JobRequest, 'model' | 'thinking' | 'tools'>,
): string[] {
  const model = request.model ?? profile?.model;
  const thinking = request.thinking ?? profile?.thinking;
  const tools = request.tools ?? profile?.tools;
  return [
    ...(model === undefined ? [] : ['--model', model]),
    ...(thinking === undefined ? [] : ['--thinking', thinking]),
    ...(tools === undefined ? [] : ['--tools', tools]),
  ];
}
