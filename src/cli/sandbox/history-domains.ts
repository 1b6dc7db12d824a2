/** Whose history there is: the configured domains, and those of which only volumes are left (S13). */
import type { Engine } from '../../engine/index.ts';
import { UsageError } from '../../lib/errors.ts';
import { type Config, DomainId, shown } from '../config/index.ts';
import { type ListedSandbox, listSandboxes } from './find-sandboxes.ts';
import { volumeOfName } from './names.ts';

export interface DomainHistory {
  readonly domain: DomainId;
  /** Undefined for a domain that is not configured: nothing of it is pruned unless somebody says how old (rule 3). */
  readonly retention: { readonly days: number; readonly trashDays: number } | undefined;
  /** Names of its volumes; undefined for one that is not there, and must not be made by looking. */
  readonly sessions: string | undefined;
  readonly domainState: string | undefined;
  /** Its sandboxes that run, or are about to. */
  readonly sandboxes: readonly ListedSandbox[];
}

/** More domains than this are not looked at in one call (rule 7). */
const MAX_DOMAINS = 200;

/** In the order of the configuration; then those that are not in it, by name. */
export async function domainHistories(engine: Engine, config: Config): Promise<DomainHistory[]> {
  const prefix = config.INSTALLATION_PREFIX;
  const [volumes, sandboxes] = await Promise.all([
    engine.volumes.list({ namePrefix: prefix }),
    listSandboxes(engine, prefix),
  ]);
  const found = volumes.flatMap(({ name }) => {
    const volume = volumeOfName(prefix, name);
    return volume?.domain === undefined ? [] : [{ name, role: volume.role, domain: volume.domain }];
  });
  const configured = config.domains.map(({ id }) => id);
  const others = found.filter(({ role }) => role === 'sessions').map(({ domain }) => domain);
  const domains = new Set([...configured, ...others.sort()]);
  const volumeOf = (domain: DomainId, role: 'sessions' | 'domain-state') =>
    found.find((volume) => volume.domain === domain && volume.role === role)?.name;
  return [...domains].slice(0, MAX_DOMAINS).map((domain) => ({
    domain,
    retention: retentionOf(config, domain),
    sessions: volumeOf(domain, 'sessions'),
    domainState: volumeOf(domain, 'domain-state'),
    sandboxes: sandboxes.filter((sandbox) => sandbox.domain === domain && !isOver(sandbox)),
  }));
}

/**
 * The domain that a word of the command line names.
 *
 * @throws UsageError listing those that there are
 */
export function chosenDomain(domains: readonly DomainHistory[], word: string): DomainHistory {
  const id = DomainId.safeParse(word).data;
  const chosen = domains.find(({ domain }) => domain === id);
  if (chosen !== undefined) return chosen;
  const listed = domains.map(({ domain }) => domain).join(', ');
  throw new UsageError(`there is no domain "${shown(word)}"; the domains are: ${listed}`);
}

function retentionOf(config: Config, domain: DomainId): DomainHistory['retention'] {
  const days = config.domains.find(({ id }) => id === domain)?.sessionsRetentionDays;
  return days === undefined ? undefined : { days, trashDays: config.SESSIONS_TRASH_DAYS };
}

function isOver({ state }: ListedSandbox): boolean {
  return state === 'exited' || state === 'dead';
}
