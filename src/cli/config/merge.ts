/** The session configuration of a start: three levels merged into one set of files (S8). */
import { ConfigError } from '../../lib/errors.ts';
import { SANDBOX_CONFIG_VERSION, type SandboxConfig, tableFingerprint } from '../../wire/index.ts';
import { sandboxName } from '../sandbox/names.ts';
import { type Certificates, hostCertificates } from './certificates.ts';
import type { MergedFile } from './config-tree.ts';
import type { Origin } from './deep-merge.ts';
import type { DomainId } from './domain-id.ts';
import type { CanonicalPath } from './host-path.ts';
import { isObject, type Json, type JsonObject, ownValue } from './json.ts';
import { legacyTable } from './legacy-table.ts';
import { type FileOrigins, mergeLevels } from './levels.ts';
import type { Config, Environment } from './load.ts';
import type { MissingConsent } from './project-level.ts';

export interface MergeOptions {
  readonly config: Config;
  readonly domain: DomainId;
  readonly project: CanonicalPath;
  /** Where `NODE_EXTRA_CA_CERTS` and `SSL_CERT_FILE` are looked up. */
  readonly env: Environment;
  /** The container's name; by default the one that S18 derives. */
  readonly name?: string;
  /** `--trust-project-config`: what needs consent is taken this time without it. */
  readonly trustProject?: boolean;
}

export interface SessionMerge {
  /** All files of the tar but `sandbox.json` and the certificates, sorted by path. */
  readonly files: readonly MergedFile[];
  /** For each merged JSON file its value and where each key came from. */
  readonly origins: readonly FileOrigins[];
  /** One line each, for standard error. */
  readonly warnings: readonly string[];
  /** Every source of the merged settings' `packages`. */
  readonly packages: readonly string[];
  /** What of the project's level was left out because the user has not agreed to it. */
  readonly consentNeeded: readonly MissingConsent[];
  readonly sandbox: SandboxConfig;
  readonly certificates: Certificates | undefined;
}

/**
 * Merges global, domain and project level. With `consentNeeded` in the result, ask on a terminal,
 * `rememberAnswer`, and merge again; without a terminal the warnings already say what was ignored and which flag takes it.
 *
 * @throws ConfigError naming file, line and column of invalid JSON, or the limit that a file exceeds
 */
export async function mergeSessionConfig(options: MergeOptions): Promise<SessionMerge> {
  const { config, domain, project, env } = options;
  const levels = await mergeLevels(options);
  const { certificates, warnings } = await hostCertificates(config, env);
  const settings = levels.origins.find(({ file }) => file === 'settings.json');
  const packages = packageSources(settings?.value ?? {}, settings?.origins ?? []);
  return {
    ...levels,
    warnings: [...levels.warnings, ...warnings],
    packages,
    certificates,
    sandbox: {
      version: SANDBOX_CONFIG_VERSION,
      prefix: config.INSTALLATION_PREFIX,
      name: options.name ?? sandboxName(config.INSTALLATION_PREFIX, domain, project),
      domain,
      project,
      idleStopMinutes: config.IDLE_STOP_MINUTES,
      sharedLinks: [...config.SHARED_LINKS],
      privatePackages: config.PRIVATE_PACKAGES,
      trustHostCertificates: certificates !== undefined,
      packages,
      mounted: [],
      oldHistory: tableFingerprint(legacyTable(config)),
      ...historyOf(config, domain),
    },
  };
}

/** A domain that is not configured has no retention: nothing of it is pruned (rule 3). */
function historyOf(config: Config, domain: DomainId): Pick<SandboxConfig, 'history'> {
  const retentionDays = config.domains.find(({ id }) => id === domain)?.sessionsRetentionDays;
  if (retentionDays === undefined) return {};
  return { history: { retentionDays, trashDays: config.SESSIONS_TRASH_DAYS } };
}

/** pi takes a source as text or as `{ "source": …, filters }`. */
function packageSources(settings: JsonObject, origins: readonly Origin[]): string[] {
  const packages = ownValue(settings, 'packages') ?? [];
  const where = origins.find(({ path }) => path[0] === 'packages')?.file ?? 'settings.json';
  if (!isList(packages)) throw new ConfigError(where, '"packages" must be a list of package sources');
  return packages.map((entry) => {
    const source = isObject(entry) ? ownValue(entry, 'source') : entry;
    if (typeof source === 'string' && source !== '') return source;
    throw new ConfigError(where, 'each of "packages" must be a source or an object with a "source"');
  });
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
