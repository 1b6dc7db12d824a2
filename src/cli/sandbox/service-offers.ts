import { stat } from 'node:fs/promises';
import { UsageError } from '../../lib/errors.ts';
import type { Config } from '../config/index.ts';
import { canAsk, confirm } from '../ui/prompt.ts';
import { info } from '../ui/report.ts';
import type { Project } from './project.ts';
import type { ServiceOffer } from './relay-state.ts';
import type { StartOptions } from './start-options.ts';

/**
 * Works out what `--ssh-agent` and `--git-credentials` mean here, before anything is made.
 *
 * @param interactive there is a terminal, and the user is there to be asked
 * @throws UsageError when there is no agent to forward, or no host to answer for
 */
export async function serviceOffers(
  options: StartOptions,
  config: Config,
  project: Project,
  env: NodeJS.ProcessEnv,
  interactive: boolean,
): Promise<ServiceOffer[]> {
  const offers: ServiceOffer[] = [];
  if (options.sshAgent === true) offers.push(await agentOffer(env));
  const named = options.gitCredentialHosts;
  if (options.gitCredentials === true || named !== undefined) {
    const { credentialHosts } = await import('./credential-hosts.ts');
    const ask = interactive && canAsk() ? askForHost : undefined;
    const hosts = await credentialHosts(config, project, { named, ask });
    if (hosts.length > 0) {
      info(`git in the sandbox gets your credentials for ${hosts.join(', ')}`);
      offers.push({ service: 'git-credentials', hosts: [...hosts] });
    }
  }
  return offers;
}

function askForHost(question: string): Promise<boolean> {
  return confirm(question, '--git-credential-hosts', undefined);
}

async function agentOffer(env: NodeJS.ProcessEnv): Promise<ServiceOffer> {
  const socket = env.SSH_AUTH_SOCK ?? '';
  const facts = socket === '' ? undefined : await stat(socket).catch(() => undefined);
  if (facts?.isSocket() === true) return { service: 'ssh-agent', agentSocket: socket };
  const reason = socket === '' ? 'is not set' : `is ${socket}, which is no socket`;
  throw new UsageError(`--ssh-agent: there is no agent to forward, SSH_AUTH_SOCK ${reason}`, {
    hint: 'start one: eval "$(ssh-agent)"; ssh-add',
  });
}
