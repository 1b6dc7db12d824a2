/** Which domain a directory belongs to, as data: decided on the host, used where old Sessions are sorted (S7, S12). */
import { createHash } from 'node:crypto';
import * as z from 'zod/mini';

const rule = z.object({
  /** Absolute and normalised. */
  path: z.string(),
  /** Null where two domains claim the directory: what lies there is nobody's. */
  domain: z.nullable(z.string()),
});

export const DomainTable = z.object({
  /** Each path once, in any order. */
  rules: z.array(rule),
  /** The domain of everything outside all paths; null when there is none. */
  fallback: z.nullable(z.string()),
});
export type DomainTable = z.infer<typeof DomainTable>;

/** The same for the same decisions; what a marker remembers of the table it was written with. */
export function tableFingerprint({ rules, fallback }: DomainTable): string {
  const lines = rules.map(({ path, domain }) => JSON.stringify([path, domain])).sort();
  return createHash('sha256')
    .update(JSON.stringify([lines, fallback]))
    .digest('hex')
    .slice(0, 16);
}
