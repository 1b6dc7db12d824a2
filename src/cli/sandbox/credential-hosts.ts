/** For whom git in a sandbox may get the user's credentials (S10). */
import { join } from 'node:path';
import { readRegularFile } from '../../lib/bounded-read.ts';
import { UsageError } from '../../lib/errors.ts';
import {
  answerTo,
  type CanonicalPath,
  type Config,
  credentialHostItem,
  readConsents,
  rememberAnswer,
  settingFromFlag,
} from '../config/index.ts';
import { info, warn } from '../ui/report.ts';
import { gitConfigKeys } from './git-config.ts';
import type { Project } from './project.ts';
import { gitCommonDirectory } from './project-git.ts';

const MAX_CONFIG_BYTES = 256 * 1024;
/** Nobody reads more questions than that (rule 7). */
const MAX_REMOTE_HOSTS = 20;

export interface HostChoice {
  /** `--git-credential-hosts`, as it was given. */
  readonly named: string | undefined;
  /** Asks on the terminal; undefined where there is none. */
  readonly ask: ((question: string) => Promise<boolean>) | undefined;
}

/**
 * The hosts that the user has named, or those of the project's remotes that the user has agreed to for this project. A
 * session can change the remotes: so each is asked for once, on a terminal, and left out where there is none. Empty when the
 * answer to every question was no.
 *
 * @throws UsageError when there is no host to answer for, or none that has consent and nowhere to ask
 */
export async function credentialHosts(
  config: Config,
  project: Pick<Project, 'canonical' | 'display'>,
  { named, ask }: HostChoice,
): Promise<readonly string[]> {
  const given =
    named === undefined
      ? config.GIT_CREDENTIAL_HOSTS
      : settingFromFlag('GIT_CREDENTIAL_HOSTS', named, '--git-credential-hosts');
  if (given.length > 0) return given;
  const remotes = await remoteHosts(project.canonical);
  if (remotes.length === 0) {
    throw new UsageError(
      '--git-credentials: the project has no remote with https, so there is no host to answer for',
      { hint: 'name them: --git-credential-hosts github.com' },
    );
  }
  if (remotes.length > MAX_REMOTE_HOSTS) {
    throw new UsageError(`--git-credentials: the project has remotes on ${remotes.length} hosts`, {
      hint: 'name those you mean: --git-credential-hosts github.com',
    });
  }
  return agreed(config, project, remotes, ask);
}

async function agreed(
  config: Config,
  { canonical, display }: Pick<Project, 'canonical' | 'display'>,
  remotes: readonly string[],
  ask: HostChoice['ask'],
): Promise<string[]> {
  const consents = await readConsents(config, canonical);
  const allowed: string[] = [];
  const left: string[] = [];
  for (const host of remotes) {
    const item = credentialHostItem(host);
    let answer = answerTo(consents, item);
    if (answer === undefined && ask !== undefined) {
      const yes = await ask(`May git in the sandbox of ${display} get ${item.summary}?`);
      answer = yes ? 'agreed' : 'refused';
      await rememberAnswer(config, canonical, [item], answer);
    }
    (answer === 'agreed' ? allowed : left).push(host);
  }
  if (left.length > 0) tellLeft(left, { any: allowed.length > 0, asked: ask !== undefined });
  return allowed;
}

/**
 * Says which hosts get nothing, and what gives it to them: a no is not asked for again.
 *
 * @throws UsageError when there is no other, and nobody to ask
 */
function tellLeft(left: readonly string[], { any, asked }: { any: boolean; asked: boolean }): void {
  const hosts = left.join(', ');
  const none = `git in the sandbox gets no credentials for ${hosts}`;
  const way = '--git-credential-hosts or GIT_CREDENTIAL_HOSTS';
  if (asked) info(`${none}, as you answered; ${way} allows it`);
  else if (any) {
    warn(`${none} without your consent: start on a terminal to be asked, or name all hosts with ${way}`);
  } else {
    throw new UsageError(`--git-credentials: you have not agreed to give credentials for ${hosts}`, {
      hint: `start on a terminal to be asked once; --git-credential-hosts ${left.join(',')} allows it for this start, GIT_CREDENTIAL_HOSTS for every one`,
    });
  }
}

/** The hosts of a project's remotes that take passwords, each once. */
export async function remoteHosts(project: CanonicalPath): Promise<string[]> {
  const outside = await gitCommonDirectory(project).catch(() => undefined);
  const git = outside !== undefined && 'directory' in outside ? outside.directory : join(project, '.git');
  const content = await readRegularFile(join(git, 'config'), {
    maxBytes: MAX_CONFIG_BYTES,
    within: git,
  }).catch(() => undefined);
  if (content === undefined) return [];
  const urls = gitConfigKeys(content.toString('utf8'))
    .filter(([key]) => /^remote\..*\.(url|pushurl)$/s.test(key))
    .flatMap(([, values]) => values.split('\n'));
  const hosts = urls.flatMap((url) => {
    const match = /^"?https?:\/\/(?:[^/@\s]*@)?([A-Za-z0-9.-]{1,253}(?::\d{1,5})?)(?:\/|"?$)/.exec(
      url.trim(),
    );
    return match?.[1] === undefined ? [] : [match[1].toLowerCase()];
  });
  return [...new Set(hosts)].sort();
}
