/** Names of domains and what is derived from them (S7). */
import * as z from 'zod/mini';

export const DOMAIN_NAME = '1 to 32 of a-z 0-9 -, starting with a letter or digit';

export const DomainId = z
  .string()
  .check(z.regex(/^[a-z0-9][a-z0-9-]{0,31}$/))
  .brand<'DomainId'>();
export type DomainId = z.infer<typeof DomainId>;

/** The one domain of an installation that configures none. */
export const ONLY_DOMAIN: DomainId = DomainId.parse('default');

/** The `<ID>` of a domain in the names of its keys: upper case, every other character `_`. */
export function domainKey(domain: DomainId): string {
  return domain.toUpperCase().replace(/[^A-Z0-9]/g, '_');
}
