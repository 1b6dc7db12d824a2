/**
 * `sandbox.json`: the only configuration that code inside a sandbox reads (S8). The host writes it into the merged
 * configuration's tar, so it reaches the container's memory file system and never a disk.
 */
import * as z from 'zod/mini';

export const SANDBOX_CONFIG_VERSION = 1;

/** Whole days: a negative or fractional number is refused, and nothing is pruned by it (S11). */
export const HistorySettings = z.object({
  /** 0 keeps everything. */
  retentionDays: z.int().check(z.minimum(0)),
  /** How long a deleted Session can be restored; 0 deletes at once. */
  trashDays: z.int().check(z.minimum(0)),
});
export type HistorySettings = z.infer<typeof HistorySettings>;

export const SandboxConfig = z.object({
  version: z.literal(SANDBOX_CONFIG_VERSION),
  /** Installation prefix, container name, domain and canonical project path. */
  prefix: z.string(),
  name: z.string(),
  domain: z.string(),
  project: z.string(),
  /** Minutes without anything alive after which the container ends. */
  idleStopMinutes: z.number(),
  /** Names below /home/pi that are linked into the domain's home from the shared volume (S2). */
  sharedLinks: z.array(z.string()),
  /** Keep pi packages in the domain's volume instead of the shared one (S5). */
  privatePackages: z.boolean(),
  /** The host's certificate bundle is in the tar as `ca-certificates.crt` (S10). */
  trustHostCertificates: z.boolean(),
  /** Every source of the merged settings' `packages`, so that pi may go online to install a missing one (S8). */
  packages: z.array(z.string()),
  /** Host folders as they were looked at before they were mounted; none where that can't be compared (S17). */
  mounted: z.array(z.object({ path: z.string(), inode: z.string() })),
  /** How long the domain's Sessions stay (S11); absent from an older command's: then nothing is pruned. */
  history: z.optional(HistorySettings),
  /** Fingerprint of the decisions by which history from before domains had their own is sorted (S12). */
  oldHistory: z.optional(z.string()),
});
export type SandboxConfig = z.infer<typeof SandboxConfig>;
