/**
 * The one map of paths in a sandbox: what pi's agent directory and the domain's home hold, and which volume each
 * part really lives in (the table of 1-sandbox.md; S2, S3, S4, S5).
 *
 * The agent directory itself is a directory of links in the container's memory. Thus pi's lock directories beside
 * a linked file are private to the container, and a program that renames a file over a link replaces only a
 * private link, which the supervisor then puts right (S4).
 */
import { type AgentDir, agentDirAt } from './agent-directory.ts';
import { rootEntry, workDir } from './places.ts';

/** Where the parts of a sandbox are. Everything else is derived from these. */
export interface Roots {
  /**
   * What programs reach by absolute path, `/home/pi`: memory, with links to where things really are. The volumes of
   * the domain are mounted below it, and never below a folder that another domain could rename (docs/adr/0007).
   */
  readonly front: string;
  /** Mount of the shared volume. */
  readonly shared: string;
  /** Mount of the domain's state volume. */
  readonly domain: string;
  /** Mount of the domain's Session history. */
  readonly sessions: string;
  /** The container's memory: agent directory and merged configuration. */
  readonly memory: string;
  /** `XDG_RUNTIME_DIR`: sockets and locks of this container. */
  readonly runtime: string;
}

const SANDBOX_HOME = '/home/pi';

/** File systems in memory that make up {@link Roots.front}; the volumes' mount points lie in the last two. */
export const FRONT_DIRECTORIES = [SANDBOX_HOME, `${SANDBOX_HOME}/.pi`, `${SANDBOX_HOME}/.pi/agent`];

/** The roots as mounted in a container whose user is `uid`. */
export function sandboxRoots(uid: number): Roots {
  return {
    front: SANDBOX_HOME,
    shared: '/run/pi-agent-state',
    domain: `${SANDBOX_HOME}/.pi/domain`,
    sessions: `${SANDBOX_HOME}/.pi/agent/sessions`,
    memory: '/run/pi-session',
    runtime: `/run/user/${uid}`,
  };
}

/** In the root of each volume that was prepared: an empty one would get the image's owner again at the next mount. */
export const VOLUME_MARKER = '.pi-sandbox-volume';

/** The shared volume's agent directory, below its root. */
export const SHARED_AGENT_PLACE = ['.pi', 'agent'] as const;

/** Where history lay in the shared volume before domains had their own, below its root (S12, docs/adr/0007). */
export const OLD_SESSIONS_PLACE = [...SHARED_AGENT_PLACE, 'sessions'] as const;

export interface Paths {
  /** The directory of links that pi is given. */
  readonly agent: AgentDir;
  readonly home: string;
  /** The same directory as programs find it in the home directory. */
  readonly homeAgent: AgentDir;
  /** What is behind its links, in the shared volume and in the domain's. */
  readonly sharedAgent: AgentDir;
  readonly domainAgent: AgentDir;
  readonly sessionLocks: string;
  readonly sandboxLogs: string;
  readonly socketDirectory: string;
  readonly socket: string;
  readonly token: string;
  readonly startTurn: string;
  /** This sandbox's place among those that are alive on the shared volume, as a number (W10). */
  readonly liveMark: string;
  readonly accounts: string;
  readonly certificates: string;
}

export function pathsOf(roots: Roots): Paths {
  const socketDirectory = `${roots.runtime}/pi-sandbox`;
  return {
    agent: agentDirAt(`${roots.memory}/agent`),
    home: `${roots.domain}/home`,
    homeAgent: agentDirAt(`${roots.domain}/home/.pi/agent`),
    sharedAgent: agentDirAt(`${roots.shared}/.pi/agent`),
    domainAgent: agentDirAt(`${roots.domain}/agent`),
    sessionLocks: `${roots.domain}/locks/sessions`,
    sandboxLogs: `${roots.domain}/logs/sandboxes`,
    socketDirectory,
    socket: `${socketDirectory}/supervisor.sock`,
    token: `${socketDirectory}/token`,
    startTurn: `${socketDirectory}/start-turn.lock`,
    liveMark: `${socketDirectory}/live`,
    accounts: `${roots.memory}/etc`,
    certificates: `${roots.memory}/ca-certificates.crt`,
  };
}

/** Where programs of a sandbox reach a service on the user's machine, while a relay is there (S10). */
export function relaySocket(runtime: string, service: string): string {
  return `${runtime}/pi-sandbox/${service}.sock`;
}

/** git's system-wide configuration of a sandbox, in the container's memory (S10). */
export const GIT_CONFIG_NAME = 'gitconfig';

/** What stands behind a link: a directory is made at once, a file appears when somebody writes it. */
export type Behind = 'file' | 'directory';

export interface Link {
  /** Name in the agent directory. */
  readonly name: string;
  readonly target: string;
  readonly behind: Behind;
  /** Which volume it belongs to; `memory` is gone with the container. */
  readonly owner: 'shared' | 'domain' | 'sessions' | 'memory';
}

const SHARED_FILES = ['auth.json'];
const PACKAGE_DIRECTORIES = ['npm', 'git'];
/** Files of the merged configuration that pi reads and writes (S8). */
export const MERGED_FILES = ['settings.json', 'mcp.json', 'models.json', 'AGENTS.md'];
/** Files of the merged configuration that pi may write as well. */
export const CONFIG_FILES = ['keybindings.json', 'SYSTEM.md', 'APPEND_SYSTEM.md'];
/** Folders of the merged configuration that every Session can read and none should change (S8). */
export const CONFIG_DIRECTORIES = ['extensions', 'skills', 'prompts', 'themes'];
const DOMAIN_FILES = [
  'MEMORY.md',
  'USER.md',
  'crashes.json',
  'mcp.log',
  'mcp.log.1',
  'pi-debug.log',
  'models-store.json',
];
const DOMAIN_DIRECTORIES = [
  'multi-agent-sessions',
  'work',
  'worktrees',
  'state',
  'cache',
  'okf-memory',
  'agents',
  'tmp',
  'bin',
];

/** File of the agent directory that is no link but a private copy kept in step with the shared one (S4). */
export const TRUST_FILE = 'trust.json';

/** Kernel locks in the shared volume's agent directory: for a start's work there, and for the trust decisions. */
export const SETUP_LOCK = '.setup.lock';
export const TRUST_LOCK = '.trust.lock';

/** What pi keeps in the shared volume's agent directory. */
export const SHARED_AGENT_NAMES = [...SHARED_FILES, ...PACKAGE_DIRECTORIES, TRUST_FILE];

/** Every link of the agent directory. `privatePackages` moves pi packages into the domain (S5). */
export function agentLinks(roots: Roots, options: { privatePackages: boolean }): Link[] {
  const { sharedAgent, domainAgent } = pathsOf(roots);
  const links = (names: string[], directory: string, behind: Behind, owner: Link['owner']): Link[] =>
    names.map((name) => ({ name, target: `${directory}/${name}`, behind, owner }));
  const packages: [AgentDir, Link['owner']] = options.privatePackages
    ? [domainAgent, 'domain']
    : [sharedAgent, 'shared'];
  return [
    ...links(SHARED_FILES, sharedAgent, 'file', 'shared'),
    ...links(PACKAGE_DIRECTORIES, packages[0], 'directory', packages[1]),
    { name: 'sessions', target: roots.sessions, behind: 'directory', owner: 'sessions' },
    ...links(MERGED_FILES, roots.memory, 'file', 'memory'),
    ...links(CONFIG_FILES, `${roots.memory}/config`, 'file', 'memory'),
    ...links(CONFIG_DIRECTORIES, `${roots.memory}/config`, 'directory', 'memory'),
    { name: 'mcp-auth.json', target: `${roots.domain}/mcp-auth.json`, behind: 'file', owner: 'domain' },
    ...links(DOMAIN_FILES, domainAgent, 'file', 'domain'),
    ...links(DOMAIN_DIRECTORIES, domainAgent, 'directory', 'domain'),
  ];
}

/** Sign-ins of command-line tools: name below a home directory, and its directory in the domain (S3). */
export function signInLinks(roots: Roots): { name: string; target: string }[] {
  const cli = `${roots.domain}/cli`;
  return [
    { name: '.config/stackit', target: `${cli}/stackit` },
    { name: '.config/hcloud', target: `${cli}/hcloud` },
    { name: '.config/gh', target: `${cli}/gh` },
    { name: '.kube', target: `${cli}/kube` },
    { name: '.talos', target: `${cli}/talos` },
  ];
}

/** Folders of the shared cache in which programs keep a domain's words: answers, logs, a socket that takes passwords. */
const OWN_CACHES = ['gh', 'git', 'stackit'];

/** Links in the shared volume's cache to the domain's own folders: name in the volume, and directory in the domain (S5). */
export function cacheLinks(roots: Roots): { name: string; target: string }[] {
  return OWN_CACHES.map((name) => ({ name: `.cache/${name}`, target: `${roots.domain}/cache/${name}` }));
}

/**
 * The links of `/home/pi`: the shared folders, the sign-ins, and what pi keeps in the shared volume, each at the path
 * that the volume itself gives it (S2, S3).
 */
export function frontLinks(roots: Roots, sharedLinks: readonly string[]): { name: string; target: string }[] {
  const shared = [...SHARED_HOME_LINKS, ...sharedLinks].map((name) => ({
    name,
    target: `${roots.shared}/${name}`,
  }));
  const { sharedAgent } = pathsOf(roots);
  const agent = SHARED_AGENT_NAMES.map((name) => ({
    name: `.pi/agent/${name}`,
    target: rootEntry(sharedAgent, name),
  }));
  return [...shared, ...signInLinks(roots), ...agent];
}

/** Linked from the shared volume into every domain's home; `SHARED_LINKS` adds to them (S2). */
export const SHARED_HOME_LINKS = ['.cache', '.pi-lens'];

/** Variables that every process of a sandbox gets, also one started by the engine's exec (S3). */
export function sandboxEnvironment(roots: Roots): Record<string, string> {
  const paths = pathsOf(roots);
  const cli = `${roots.domain}/cli`;
  return {
    HOME: paths.home,
    USER: 'pi',
    LOGNAME: 'pi',
    PI_CODING_AGENT_DIR: paths.agent,
    // Resolved (W1): what the link in the agent directory leads to.
    PI_WORK_ROOT: workDir(paths.domainAgent),
    XDG_RUNTIME_DIR: roots.runtime,
    XDG_STATE_HOME: `${roots.domain}/state`,
    XDG_DATA_HOME: `${roots.domain}/data`,
    HERMIT_STATE_DIR: `${cli}/hermit`,
    GH_CONFIG_DIR: `${cli}/gh`,
    KUBECONFIG: `${cli}/kube/config`,
    TALOSCONFIG: `${cli}/talos/config`,
    HCLOUD_CONFIG: `${cli}/hcloud/cli.toml`,
    PI_SANDBOX_LOCK_DIR: paths.sessionLocks,
    GIT_CONFIG_SYSTEM: `${roots.memory}/${GIT_CONFIG_NAME}`,
    PI_SKIP_VERSION_CHECK: '1',
    PI_TELEMETRY: '0',
  };
}

/** Variables by which node, npm, git, curl and Python trust the host's certificates too (S10). */
export function certificateEnvironment(): Record<string, string> {
  const { certificates } = pathsOf(sandboxRoots(0));
  return {
    NODE_EXTRA_CA_CERTS: certificates,
    SSL_CERT_FILE: certificates,
    GIT_SSL_CAINFO: certificates,
    CURL_CA_BUNDLE: certificates,
    REQUESTS_CA_BUNDLE: certificates,
    NPM_CONFIG_CAFILE: certificates,
  };
}
