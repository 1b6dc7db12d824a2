/** Which domain a project belongs to (S7). */
import { ConfigError, UsageError } from '../../lib/errors.ts';
import type { DomainId } from './domain-id.ts';
import { type CanonicalPath, isWithin } from './host-path.ts';
import type { Config } from './load.ts';
import { shown } from './values.ts';

/**
 * The domain named by `override` (`--domain`), else the one with the longest path above the project, else
 * `DEFAULT_DOMAIN`, else the only domain where none are configured.
 *
 * @throws UsageError for an unknown override or a project outside every domain; ConfigError for a tie.
 */
export function domainOf(config: Config, project: CanonicalPath, override?: string): DomainId {
  if (override !== undefined) return domainNamed(config, override);
  const listed = config.domains.map(({ id }) => id).join(', ');
  const matches = config.domains.flatMap(({ id, paths }) =>
    paths.filter((path) => isWithin(project, path)).map((path) => ({ id, path })),
  );
  const longest = Math.max(...matches.map(({ path }) => path.length));
  const [best, tied] = matches.filter(({ path }) => path.length === longest);
  if (best !== undefined && tied !== undefined) throw tie(config, best.path, best.id, tied.id);
  if (best !== undefined) return best.id;
  if (config.DEFAULT_DOMAIN !== undefined) return config.DEFAULT_DOMAIN;
  const [only] = config.domains;
  if (only !== undefined && !config.origins.has('DOMAINS')) return only.id;
  throw new UsageError(`${project} is in no domain's paths; the domains are: ${listed}`, {
    hint: 'choose one with --domain, set DEFAULT_DOMAIN, or add the directory to a DOMAIN_<ID>_PATHS',
  });
}

/** The configured domain of that name. @throws UsageError listing those that there are */
export function domainNamed(config: Config, name: string): DomainId {
  const chosen = config.domains.find(({ id }) => id === name);
  if (chosen !== undefined) return chosen.id;
  const listed = config.domains.map(({ id }) => id).join(', ');
  throw new UsageError(`there is no domain "${shown(name)}"; the domains are: ${listed}`);
}

/** Every directory that two domains claim, for `config check`. */
export function domainTies(config: Config): ConfigError[] {
  const owners = new Map<string, DomainId>();
  const ties: ConfigError[] = [];
  for (const { id, paths } of config.domains) {
    for (const path of paths) {
      const other = owners.get(path);
      if (other !== undefined) ties.push(tie(config, path, other, id));
      owners.set(path, id);
    }
  }
  return ties;
}

function tie(config: Config, path: string, one: DomainId, two: DomainId): ConfigError {
  const key = config.domains.find(({ id }) => id === two)?.key ?? '<ID>';
  const where = config.origins.get(`DOMAIN_${key}_PATHS`) ?? 'DOMAIN_<ID>_PATHS';
  return new ConfigError(where, `domains "${one}" and "${two}" both claim ${path}`, {
    hint: 'give the directory to one of them, or choose with --domain',
  });
}
