import { stat } from 'node:fs/promises';
import { UsageError } from '../../lib/errors.ts';
import type { CanonicalPath, Config } from '../config/index.ts';
import { info } from '../ui/report.ts';
import type { ServiceOffer } from './relay-state.ts';
import type { StartOptions } from './start-options.ts';

/**
 * Works out what `--ssh-agent` and `--git-credentials` mean here, before anything is made.
 *
 * @throws UsageError when there is no agent to forward, or no host to answer for
 */
export async function serviceOffers(
  options: StartOptions,
  config: Config,
  project: CanonicalPath,
  env: NodeJS.ProcessEnv,
): Promise<ServiceOffer[]> {
  const offers: ServiceOffer[] = [];
  if (options.sshAgent === true) offers.push(await agentOffer(env));
  if (options.gitCredentials === true) {
    const { remoteHosts } = await import('./git-credentials.ts');
    const named = [...config.GIT_CREDENTIAL_HOSTS];
    const hosts = named.length > 0 ? named : await remoteHosts(project);
    if (hosts.length === 0) {
      throw new UsageError(
        '--git-credentials: the project has no remote with https, so there is no host to answer for',
        {
          hint: 'name them in the configuration: GIT_CREDENTIAL_HOSTS=github.com',
        },
      );
    }
    info(`git in the sandbox gets your credentials for ${hosts.join(', ')}`);
    offers.push({ service: 'git-credentials', hosts });
  }
  return offers;
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
