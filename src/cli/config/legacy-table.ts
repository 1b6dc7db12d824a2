/** The decisions by which history from before domains had their own is sorted (S12). */
import type { DomainTable } from '../../wire/index.ts';
import type { DomainId } from './domain-id.ts';
import type { Config } from './load.ts';

/**
 * The same decisions as for projects (S7), for directories that may no longer exist: the longest path wins, a path counts
 * as it was written and as it really is, and `LEGACY_PATHS` adds those of older containers, before anything else. A path
 * that two domains claim decides nothing.
 */
export function legacyTable(config: Config): DomainTable {
  const owners = new Map<string, DomainId | null>();
  for (const { id, paths, writtenPaths } of config.domains) {
    for (const path of new Set([...paths, ...writtenPaths])) {
      const other = owners.get(path);
      owners.set(path, other === undefined || other === id ? id : null);
    }
  }
  for (const { path, domain } of config.LEGACY_PATHS) owners.set(path, domain);
  const [only] = config.domains;
  const alone = config.origins.has('DOMAINS') ? undefined : only?.id;
  return {
    rules: [...owners].map(([path, domain]) => ({ path, domain })),
    fallback: config.DEFAULT_DOMAIN ?? alone ?? null,
  };
}
