/** `.env` and the process environment -> one typed, validated Config (S6, S7). */
import { join, resolve } from 'node:path';
import { ConfigError, messageOf } from '../../lib/errors.ts';
import { type DomainId, domainKey, ONLY_DOMAIN } from './domain-id.ts';
import { type EnvEntry, readEnvFile } from './env-file.ts';
import { type CanonicalPath, canonicalPath, expandPath } from './host-path.ts';
import { keyWarnings } from './key-warnings.ts';
import { DomainSettings, isSettingName, type SettingName, Settings } from './keys.ts';
import { shown } from './values.ts';

/** In front of every key in the process environment. */
export const ENVIRONMENT_PREFIX = 'PI_SANDBOX_';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Domain {
  readonly id: DomainId;
  /** The domain in the names of its keys. */
  readonly key: string;
  /** Canonical host directories whose projects belong to it. */
  readonly paths: readonly CanonicalPath[];
  /** The same as they were written, absolute: old Sessions recorded either form. */
  readonly writtenPaths: readonly string[];
  /** Days; 0 keeps everything. */
  readonly sessionsRetentionDays: number;
  /** US dollars that its jobs may spend in a day (J16). */
  readonly maxCost?: number;
  /** Host directory with what the domain remembers beyond its Sessions (S9). */
  readonly brain?: CanonicalPath;
}

/** The whole configuration of the host's side. Sizes in bytes. */
export interface Config extends Omit<Settings, 'DOMAINS'> {
  /** The configuration directory, absolute; it need not exist. */
  readonly directory: string;
  readonly home: string;
  /** At least one. */
  readonly domains: readonly Domain[];
  /** One line each, for standard error. */
  readonly warnings: readonly string[];
  /** Where each key with a value was read: `file:line` or `environment variable X`. */
  readonly origins: ReadonlyMap<string, string>;
}

export interface LoadOptions {
  readonly env: Environment;
  readonly home: string;
  /** From where a relative `PI_SANDBOX_CONFIG_DIR` counts. */
  readonly cwd?: string;
}

/**
 * Reads and validates the configuration.
 *
 * @throws ConfigError for the first bad key, naming key, value, place and what is allowed.
 */
export async function loadConfig(options: LoadOptions): Promise<Config> {
  const { config, problems } = await examineConfig(options);
  const [first, ...others] = problems;
  if (first !== undefined) {
    const more =
      others.length === 0 ? undefined : `${others.length} more; all are listed by: pi-sandbox config check`;
    throw more === undefined
      ? first
      : new ConfigError(first.where, first.message.slice(first.where.length + 2), { hint: more });
  }
  return config;
}

/** As {@link loadConfig}, with every problem found instead of the first; what is bad has its default then (for `config check`). */
export async function examineConfig(
  options: LoadOptions,
): Promise<{ config: Config; problems: readonly ConfigError[] }> {
  const directory = configDirectory(options);
  const problems: ConfigError[] = [];
  const { entries, warnings } = await readEntries(directory, options.env);
  const settings = checkSettings(entries, problems);
  const ids = settings.DOMAINS ?? [ONLY_DOMAIN];
  const domains: Domain[] = [];
  for (const id of ids) domains.push(await readDomain(id, entries, settings, options.home, problems));
  checkDomainNames(ids, settings, entries, problems);
  const { DOMAINS: _, ...rest } = settings;
  for (const key of ['CA_CERTIFICATES', 'IMAGE_EXTRA'] as const) {
    const path = rest[key];
    if (path !== undefined) rest[key] = expandPath(path, options.home, directory);
  }
  const config: Config = {
    ...rest,
    directory,
    home: options.home,
    domains,
    warnings: [...warnings, ...keyWarnings(entries, domains)],
    origins: new Map(
      [...entries].filter(([key]) => given(entries, key)).map(([key, entry]) => [key, entry.where]),
    ),
  };
  return { config, problems };
}

/** `$PI_SANDBOX_CONFIG_DIR`, else `pi-sandbox` in the XDG configuration directory. */
export function configDirectory({ env, home, cwd = home }: LoadOptions): string {
  const own = env[`${ENVIRONMENT_PREFIX}CONFIG_DIR`];
  if (own) return expandPath(own, home, cwd);
  const xdg = env.XDG_CONFIG_HOME;
  // The XDG specification says that a relative path there is invalid and to be ignored.
  return xdg?.startsWith('/')
    ? join(resolve(xdg), 'pi-sandbox')
    : join(resolve(home), '.config', 'pi-sandbox');
}

async function readEntries(directory: string, env: Environment) {
  const file = await readEnvFile(join(directory, '.env'));
  const entries = new Map(file?.entries ?? []);
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || !name.startsWith(ENVIRONMENT_PREFIX)) continue;
    entries.set(name.slice(ENVIRONMENT_PREFIX.length), { value, where: `environment variable ${name}` });
  }
  const warnings = (file?.ignored ?? []).map(
    (where) => `${where}: this line is not KEY=value and has no effect`,
  );
  return { entries, warnings };
}

/** An empty value means the default, in the environment too: so one variable can switch a file's key off. */
function given(entries: ReadonlyMap<string, EnvEntry>, key: string): string | undefined {
  const value = entries.get(key)?.value.trim();
  return value === '' ? undefined : value;
}

/** The settings; a bad one is reported and has its default, so that everything else is still checked. */
function checkSettings(entries: ReadonlyMap<string, EnvEntry>, problems: ConfigError[]): Settings {
  const raw: Partial<Record<SettingName, string>> = {};
  for (const key of entries.keys()) {
    const value = given(entries, key);
    if (isSettingName(key) && value !== undefined) raw[key] = value;
  }
  const result = Settings.safeParse(raw);
  if (result.success) return result.data;
  for (const { path, message } of result.error.issues) {
    const key = String(path[0]);
    problems.push(badValue(entries, key, message));
    if (isSettingName(key)) delete raw[key];
  }
  return Settings.parse(raw);
}

/** Key, value, where, and what is allowed; of PASS_ENV never what follows a "=", which is likely a secret (S10). */
function badValue(entries: ReadonlyMap<string, EnvEntry>, key: string, allowed: string): ConfigError {
  const entry = entries.get(key);
  const value = entry?.value ?? '';
  const visible = key === 'PASS_ENV' ? value.replace(/=[^,]*/g, '=***') : value;
  return new ConfigError(entry?.where ?? key, `${key} is "${shown(visible)}"; allowed: ${allowed}`);
}

async function readDomain(
  id: DomainId,
  entries: ReadonlyMap<string, EnvEntry>,
  settings: Settings,
  home: string,
  problems: ConfigError[],
): Promise<Domain> {
  const key = domainKey(id);
  const raw: Record<string, string | undefined> = {};
  for (const template of Object.keys(DomainSettings.shape))
    raw[template] = given(entries, template.replace('<ID>', key));
  const result = DomainSettings.safeParse(raw);
  for (const issue of result.error?.issues ?? []) {
    problems.push(badValue(entries, String(issue.path[0]).replace('<ID>', key), issue.message));
  }
  const resolved = async (name: string, path: string): Promise<CanonicalPath[]> => {
    try {
      return [await canonicalPath(expandPath(path, home, home))];
    } catch (error) {
      const where = entries.get(name)?.where ?? '.env';
      problems.push(
        new ConfigError(where, `${name}: "${shown(path)}" cannot be resolved: ${messageOf(error)}`),
      );
      return [];
    }
  };
  const paths: CanonicalPath[] = [];
  const written = result.data?.['DOMAIN_<ID>_PATHS'] ?? [];
  for (const path of written) {
    paths.push(...(await resolved(`DOMAIN_${key}_PATHS`, path)));
  }
  const named = result.data?.['BRAIN_<ID>_PATH'];
  const [brain] = named === undefined ? [] : await resolved(`BRAIN_${key}_PATH`, named);
  const own = result.data?.['SESSIONS_<ID>_RETENTION_DAYS'];
  const cost = result.data?.['DOMAIN_<ID>_MAX_COST'];
  return {
    id,
    key,
    paths: [...new Set(paths)],
    writtenPaths: written.map((path) => expandPath(path, home, home)),
    sessionsRetentionDays: own ?? settings.SESSIONS_RETENTION_DAYS,
    ...(cost === undefined ? {} : { maxCost: cost }),
    ...(brain === undefined ? {} : { brain }),
  };
}

function checkDomainNames(
  ids: readonly DomainId[],
  { DEFAULT_DOMAIN: fallback, LEGACY_PATHS: legacy }: Settings,
  entries: ReadonlyMap<string, EnvEntry>,
  problems: ConfigError[],
): void {
  const byKey = new Map<string, DomainId>();
  for (const id of ids) {
    const other = byKey.get(domainKey(id));
    if (other !== undefined) {
      const where = entries.get('DOMAINS')?.where ?? 'DOMAINS';
      problems.push(
        new ConfigError(
          where,
          `DOMAINS: "${other}" and "${id}" would share the keys DOMAIN_${domainKey(id)}_…; rename one`,
        ),
      );
    }
    byKey.set(domainKey(id), id);
  }
  const strangers = legacy.filter(({ domain }) => !ids.includes(domain));
  if (strangers.length > 0)
    problems.push(badValue(entries, 'LEGACY_PATHS', `paths of DOMAINS: ${ids.join(', ')}`));
  if (fallback !== undefined && !ids.includes(fallback)) {
    problems.push(badValue(entries, 'DEFAULT_DOMAIN', `one of DOMAINS: ${ids.join(', ')}`));
  }
}
