import type { Config, DomainId } from '../config/index.ts';
import { networkName, sandboxName, type VolumeNames, volumeNames } from './names.ts';
import type { Project } from './project.ts';

/** Labels on everything of ours; for people and for listings, never the proof that something is ours (S1). */
export const LABELS = {
  prefix: 'pi-sandbox.prefix',
  role: 'pi-sandbox.role',
  domain: 'pi-sandbox.domain',
  project: 'pi-sandbox.project',
  alias: 'pi-sandbox.name',
  version: 'pi-sandbox.version',
  /** The options that its container was made with, as JSON: what `restart` makes the next one with. */
  options: 'pi-sandbox.options',
} as const;

/** The sandbox of one project in one domain: what it is called, and who runs in it. */
export interface Sandbox {
  readonly name: string;
  readonly config: Config;
  readonly domain: DomainId;
  readonly project: Project;
  readonly user: { uid: number; gid: number };
  readonly volumes: VolumeNames;
  readonly network: string;
}

export function sandboxOf(
  config: Config,
  domain: DomainId,
  project: Project,
  user: { uid: number; gid: number },
): Sandbox {
  const prefix = config.INSTALLATION_PREFIX;
  return {
    name: sandboxName(prefix, domain, project.canonical),
    config,
    domain,
    project,
    user,
    volumes: volumeNames(prefix, domain),
    network: networkName(prefix, domain),
  };
}

/** Labels of a thing that belongs to a domain. */
export function domainLabels(
  sandbox: Pick<Sandbox, 'config' | 'domain'>,
  role: string,
): Record<string, string> {
  return {
    [LABELS.prefix]: sandbox.config.INSTALLATION_PREFIX,
    [LABELS.role]: role,
    [LABELS.domain]: sandbox.domain,
    [LABELS.version]: PI_SANDBOX_VERSION,
  };
}
