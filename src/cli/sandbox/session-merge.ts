import { GIT_CONFIG_NAME } from '../../agent-dir/index.ts';
import type { SandboxConfig } from '../../wire/index.ts';
import {
  type Config,
  type DomainId,
  mergeSessionConfig,
  type PackedMerge,
  packMerge,
  rememberAnswer,
  type SessionMerge,
} from '../config/index.ts';
import { confirm } from '../ui/prompt.ts';
import { warn } from '../ui/report.ts';
import { type GitIdentity, gitConfigText } from './git-identity.ts';
import type { Project } from './project.ts';

export interface MergeForStart {
  merge: SessionMerge;
  packed: PackedMerge;
}

/**
 * The configuration of a start, packed (S8). What the project brings and the user has not answered about yet is asked for
 * on a terminal, once per content; elsewhere it is left out, and the warning names the flag, which is the same as a yes.
 */
export async function mergeForStart(
  config: Config,
  domain: DomainId,
  project: Project,
  name: string,
  options: {
    trustProjectConfig?: boolean;
    interactive: boolean;
    mounted: Promise<SandboxConfig['mounted']>;
    /** As whom git commits there. */
    identity: Promise<GitIdentity>;
  },
): Promise<MergeForStart> {
  const ask = { config, domain, project: project.canonical, env: process.env, name };
  const trusted = options.trustProjectConfig === true;
  let merge = await mergeSessionConfig(ask);
  const open = merge.consentNeeded.filter(({ refused }) => trusted || (options.interactive && !refused));
  for (const item of open) {
    const question = `${project.display} asks for: ${item.summary}. Allow it?`;
    const agreed = await confirm(question, '--trust-project-config', trusted || undefined);
    await rememberAnswer(config, project.canonical, [item], agreed ? 'agreed' : 'refused');
  }
  if (open.length > 0) merge = await mergeSessionConfig(ask);
  const identity = await options.identity;
  for (const line of [...merge.warnings, ...identity.warnings]) warn(line);
  merge = withGitIdentity(merge, identity);
  merge = { ...merge, sandbox: { ...merge.sandbox, mounted: await options.mounted } };
  return { merge, packed: await packMerge(merge) };
}

/** Adds git's configuration for the sandbox, if there is any, to what is handed in (S10). */
export function withGitIdentity(merge: SessionMerge, { values }: GitIdentity): SessionMerge {
  if (Object.keys(values).length === 0) return merge;
  const content = Buffer.from(gitConfigText(values));
  const file = { path: GIT_CONFIG_NAME, content, executable: false, from: "the user's git configuration" };
  return { ...merge, files: [...merge.files, file] };
}
