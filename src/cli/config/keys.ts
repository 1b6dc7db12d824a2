/**
 * Every configuration key of this version (S6): one schema each. The same table gives the parser, the check for
 * unknown keys, and the test that `.env.example` and `docs/configuration.md` document exactly these.
 */
import { posix } from 'node:path';
import * as z from 'zod/mini';
import { DOMAIN_NAME, DomainId } from './domain-id.ts';
import { decimal, flag, list, matching, networkPool, oneOf, size, textOf, whole } from './values.ts';

const MiB = 1024 * 1024;

/** Stems of volume, network and container names: a prefix that contained one could imitate another installation. */
const STEMS = ['pi-agent-state', 'pi-sessions-', 'pi-domain-state-', 'pi-network-', 'pi-sandbox'];

export const InstallationPrefix = z
  .string()
  .check(
    z.regex(/^([a-z0-9]+([-_.][a-z0-9]+)*[-_.]?)?$/),
    z.maxLength(32),
    z.refine((prefix) => !STEMS.some((stem) => prefix.includes(stem))),
  )
  .brand<'InstallationPrefix'>();
/** What goes in front of the name of everything that is made on an engine (S1). */
export type InstallationPrefix = z.infer<typeof InstallationPrefix>;
export const NO_PREFIX: InstallationPrefix = InstallationPrefix.parse('');

/** Places in the home directory that belong to the domain or to the sandbox itself (S3): never the shared volume's. */
const NOT_SHARED = ['.pi', '.kube', '.talos', '.config/stackit', '.config/hcloud', '.config/gh'];
/** Variables that the sandbox sets itself; passing the host's would break it. */
const NOT_PASSED =
  /^(HOME|PATH|USER|LOGNAME|SHELL|PWD|TMPDIR|XDG_.*|PI_CODING_AGENT_.*|PI_SANDBOX_.*|MULTI_AGENT_.*|LD_.*|NODE_OPTIONS)$/;
const ENGINE = /^((unix|tcp|ssh|http|https|npipe):\/\/\S+|[A-Za-z0-9][A-Za-z0-9_.+-]*)$/;

const filePath = () =>
  textOf('a path, absolute, from ~/ or from the configuration directory', (text) =>
    text === '' || text.includes('\0') || /^~[^/]/.test(text) ? undefined : text,
  );
const prefix = textOf(
  `up to 32 of a-z 0-9 with single - _ . between, none of ${STEMS.join(' ')} inside`,
  (text) => InstallationPrefix.safeParse(text).data,
);
const domain = textOf(`a domain name: ${DOMAIN_NAME}`, (text) => DomainId.safeParse(text).data);
const domains = textOf(`a comma-separated list of domain names, each once: ${DOMAIN_NAME}`, (text) => {
  const names = text.split(',').map((name) => DomainId.safeParse(name.trim()).data);
  const known = names.filter((name) => name !== undefined);
  return known.length === names.length && new Set(known).size === names.length ? known : undefined;
});
const days = () => whole(0, 36_500, ' (days; 0 keeps everything)');
const engineName = 'a docker context or an engine URL (unix:// ssh:// tcp://)';

function sharedLink(path: string): boolean {
  const parts = path.split('/');
  if (parts.some((part) => !/^[A-Za-z0-9._@+-]{1,100}$/.test(part) || part === '.' || part === '..'))
    return false;
  return !NOT_SHARED.some(
    (kept) => kept === path || kept.startsWith(`${path}/`) || path.startsWith(`${kept}/`),
  );
}

/** The keys without a domain in their name. */
export const Settings = z.object({
  INSTALLATION_PREFIX: z._default(prefix, NO_PREFIX),
  DOMAINS: z.optional(domains),
  DEFAULT_DOMAIN: z.optional(domain),
  ENGINE: z.optional(matching(engineName, ENGINE)),
  ENGINES: z._default(
    list(engineName, (item) => ENGINE.test(item), 32),
    [],
  ),
  SANDBOX_UID: z.optional(whole(0, 2_147_483_647)),
  SANDBOX_GID: z.optional(whole(0, 2_147_483_647)),
  SHARED_LINKS: z._default(
    list(`paths below the home directory, none of ${NOT_SHARED.join(' ')}`, sharedLink),
    [],
  ),
  PRIVATE_PACKAGES: z._default(flag(), false),
  PASS_ENV: z._default(
    list(
      'variable names (never NAME=value), none that the sandbox sets itself such as HOME or PATH',
      (item) => /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(item) && !NOT_PASSED.test(item),
    ),
    [],
  ),
  GIT_CREDENTIAL_HOSTS: z._default(
    list('host names, each with a port if it has one', (item) =>
      /^[A-Za-z0-9][A-Za-z0-9.-]{0,252}(:\d{1,5})?$/.test(item),
    ),
    [],
  ),
  CA_CERTIFICATES: z.optional(filePath()),
  IDLE_STOP_MINUTES: z._default(decimal(0, 525_600, ' (minutes; 0 ends as soon as nothing lives)'), 10),
  MEMORY: z.optional(size(128 * MiB)),
  CPUS: z.optional(decimal(0.01, 4_096)),
  PIDS: z._default(whole(64, 4_194_304), 2_048),
  TMP_SIZE: z._default(size(MiB), 1024 * MiB),
  NETWORK: z._default(oneOf('open', 'none'), 'open'),
  NETWORK_POOL: z._default(networkPool(), { address: '10.213.0.0', prefixLength: 16 }),
  PROTECT_GIT: z._default(flag(), true),
  BASE_IMAGE: z._default(
    matching('an image reference such as node:24-bookworm-slim', /^[a-z0-9][A-Za-z0-9._:/@-]{0,254}$/),
    'node:24-bookworm-slim',
  ),
  IMAGE_EXTRA: z.optional(filePath()),
  PI_VERSION: z._default(
    matching('an exact version such as 1.6.0', /^\d{1,5}\.\d{1,5}\.\d{1,5}(-[0-9A-Za-z.-]{1,64})?$/),
    '1.6.0',
  ),
  LEGACY_PATHS: z._default(
    textOf(
      'a comma-separated list of /path=domain, the paths as older containers had them, each once',
      (text) => {
        const items = text.split(',').map((item) => legacyPath(item.trim()));
        const known = items.filter((item) => item !== undefined);
        const once = new Set(known.map(({ path }) => path)).size === items.length;
        return known.length === items.length && once ? known : undefined;
      },
    ),
    [],
  ),
  MULTI_AGENT_MAX_RUNNING: z._default(whole(1, 1_000), 8),
  MULTI_AGENT_MAX_DEPTH: z._default(whole(0, 16), 2),
  SESSIONS_RETENTION_DAYS: z._default(days(), 30),
  SESSIONS_TRASH_DAYS: z._default(whole(0, 36_500, ' (days; 0 turns the trash off)'), 7),
});
export type Settings = z.infer<typeof Settings>;
export type SettingName = keyof Settings;

export function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(Settings.shape, name);
}

/** The keys that exist once per domain; `<ID>` stands for {@link domainKey}. */
export const DomainSettings = z.object({
  'DOMAIN_<ID>_PATHS': z.optional(
    textOf(
      'host directories joined with ":", each absolute or from ~/ (a colon inside a path is written "\\:")',
      (text) => {
        const paths = splitPaths(text);
        return paths.length > 0 && paths.every((path) => /^(\/|~$|~\/)/.test(path)) ? paths : undefined;
      },
    ),
  ),
  'SESSIONS_<ID>_RETENTION_DAYS': z.optional(days()),
  'DOMAIN_<ID>_MAX_COST': z.optional(decimal(0, 1_000_000, ' (US dollars a day)')),
  'BRAIN_<ID>_PATH': z.optional(
    textOf('a host directory, absolute or from ~/', (text) =>
      /^(\/|~$|~\/)[^\0]*$/.test(text) ? text : undefined,
    ),
  ),
});
export type DomainSettings = z.infer<typeof DomainSettings>;

/** Every key as the documentation names it. */
export const DOCUMENTED_KEYS: readonly string[] = [
  ...Object.keys(Settings.shape),
  ...Object.keys(DomainSettings.shape),
];

/** Read from the process environment only: they are needed before, or without, the configuration. */
export const ENVIRONMENT_ONLY: readonly string[] = ['CONFIG_DIR', 'SETUP', 'TURN_FD', 'PROJECT', 'DEBUG'];

/** Keys that a later version reads: said so, because "unknown" would send the user looking for a typing error. */
export const NOT_YET =
  /^(DOMAIN_[A-Z0-9_]+_(NETWORK|ENGINE)|NOTIFY_COMMAND|ALLOW_HOSTS|CREDENTIALS|HIDE_FILES|RUNS_[A-Z0-9_]+)$/;

/** `/workspace/acme=work`: what was recorded below that path is of that domain (S12). */
function legacyPath(item: string): { path: string; domain: DomainId } | undefined {
  const at = item.lastIndexOf('=');
  const path = item.slice(0, Math.max(at, 0));
  const domain = DomainId.safeParse(item.slice(at + 1)).data;
  if (domain === undefined || !path.startsWith('/') || path.includes('\0')) return undefined;
  return { path: posix.resolve(path), domain };
}

function splitPaths(text: string): string[] {
  return text
    .split(/(?<!\\):/)
    .map((path) => path.trim().replaceAll('\\:', ':'))
    .filter((path) => path !== '');
}
