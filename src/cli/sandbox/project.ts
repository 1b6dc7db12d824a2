/** The project of a command: where it is, whether it may be mounted, and as whom the sandbox runs (S2, S17). */
import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { hasCode, messageOf, UsageError } from '../../lib/errors.ts';
import { CanonicalPath, type Config, canonicalPath, type Environment, isWithin } from '../config/index.ts';
import { refuseUnspeakable } from './names.ts';

export interface Project {
  readonly canonical: CanonicalPath;
  /** For messages: the canonical path, with the home directory written `~`. */
  readonly display: string;
  /** Owner of the directory. */
  readonly owner: User;
}

export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** The project named by `argument`, or the current directory. @throws UsageError */
export async function resolveProject(
  argument: string | undefined,
  { cwd, home }: { cwd: string; home: string },
): Promise<Project> {
  const asked = resolve(cwd, argument ?? '.');
  refuseUnspeakable(asked);
  try {
    const raw = await realpath(asked, { encoding: 'buffer' });
    const text = raw.toString('utf8');
    if (!Buffer.from(text, 'utf8').equals(raw))
      throw new UsageError(`the project path ${text} is not valid UTF-8`);
    refuseUnspeakable(text);
    const canonical = CanonicalPath.parse(text);
    const facts = await stat(canonical);
    if (!facts.isDirectory()) throw new UsageError(`the project ${text} is not a directory`);
    const inHome = home !== '/' && canonical.startsWith(`${home}/`);
    const display = inHome ? `~${canonical.slice(home.length)}` : canonical;
    return { canonical, display, owner: { uid: facts.uid, gid: facts.gid } };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const reason = hasCode(error, 'ENOENT') ? 'does not exist' : `cannot be opened: ${messageOf(error)}`;
    throw new UsageError(`the project ${asked} ${reason}`);
  }
}

const USED = 'the sandbox needs its own';
/** Refused themselves: mounting here would hide something below that a sandbox needs. */
const HIDING: Readonly<Record<string, string>> = {
  '/home': 'it would hide the sandbox user’s home directory',
  '/home/pi': 'it is the sandbox user’s home directory',
  '/opt': 'it would hide /opt/pi-sandbox',
  '/run': 'it would hide the sandbox’s runtime directories',
  '/tmp': 'it would replace the sandbox’s temporary directory',
  '/usr': USED,
  '/usr/local': USED,
  '/var': USED,
  '/var/lib': USED,
};
/** Refused with all that lies below them: system directories of the container. */
const SYSTEM = [
  '/bin',
  '/boot',
  '/dev',
  '/etc',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/proc',
  '/sbin',
  '/sys',
  '/home/pi/.pi',
  '/opt/pi-sandbox',
  '/run/lock',
  '/run/pi-session',
  '/run/user',
  '/usr/bin',
  '/usr/include',
  '/usr/lib',
  '/usr/lib32',
  '/usr/lib64',
  '/usr/libexec',
  '/usr/libx32',
  '/usr/sbin',
  '/usr/share',
  '/usr/local/bin',
  '/usr/local/lib',
  '/usr/local/sbin',
  '/usr/local/share',
  '/var/lib/dpkg',
  '/var/lib/extrausers',
  '/var/run',
];

export interface RefusalFacts {
  readonly home: string;
  readonly configDirectory: string;
  /** Sockets of the engines that are used; a sandbox that reached one would own the machine. */
  readonly engineSockets?: readonly string[];
}

/**
 * Refuses a project whose mount would hand out more than a project, or break the sandbox.
 *
 * @throws UsageError naming the reason and `--force`; for `/` even with `force`, which no engine can mount over
 */
export async function requireSafeProject(
  project: Project,
  facts: RefusalFacts,
  force = false,
): Promise<void> {
  const path = project.canonical;
  if (path === '/')
    throw new UsageError('the project is /, which cannot be mounted into a sandbox', {
      hint: 'name a directory in it',
    });
  const reason = await refusalOf(path, facts);
  if (reason === undefined || force) return;
  throw new UsageError(`the project ${project.display} is refused: ${reason}`, {
    hint: 'work in a directory of its own, or use --force if you mean it',
  });
}

async function refusalOf(path: CanonicalPath, facts: RefusalFacts): Promise<string | undefined> {
  const system = SYSTEM.find((directory) => isWithin(path, directory));
  if (system !== undefined) return `${system} is a system path of the sandbox`;
  const hidden = Object.hasOwn(HIDING, path) ? HIDING[path] : undefined;
  const home = await canonicalPath(facts.home);
  if (path === home) return 'it is your home directory, with all your keys and sign-ins';
  if (isWithin(home, path)) return `your home directory ${home} lies in it`;
  if (hidden !== undefined) return hidden;
  const config = await canonicalPath(facts.configDirectory);
  if (isWithin(config, path)) return `the configuration directory ${config} lies in it`;
  if (isWithin(path, config)) return `it lies in the configuration directory ${config}`;
  const data = await engineDataAround(path, home);
  if (data !== undefined) return `it lies in ${data}, where an engine keeps images and volumes`;
  for (const socket of facts.engineSockets ?? []) {
    if (isWithin(await canonicalPath(socket), path)) return `the engine's socket ${socket} lies in it`;
  }
  return undefined;
}

/** Where engines keep everybody's volumes, the shared login among them; those of the user's own lie in the home. */
const ENGINE_DATA = ['/var/lib/docker', '/var/lib/containers'];
const ENGINE_DATA_OF_USER = ['.local/share/docker', '.local/share/containers'];

async function engineDataAround(path: CanonicalPath, home: string): Promise<string | undefined> {
  const roots = [...ENGINE_DATA, ...ENGINE_DATA_OF_USER.map((directory) => resolve(home, directory))];
  const real = await Promise.all(roots.map((root) => canonicalPath(root)));
  return real.find((root) => isWithin(path, root));
}

export interface UserFacts {
  readonly env: Environment;
  /** Of this process; absent where the system has no user ids (Windows). */
  readonly getuid: (() => number) | undefined;
  readonly getgid: (() => number) | undefined;
  readonly projectOwner: User;
  readonly config: Pick<Config, 'SANDBOX_UID' | 'SANDBOX_GID'>;
  /** Whose rootless engine runs the sandbox; undefined for an engine of root's. */
  readonly rootlessOwner: number | undefined;
}

/**
 * The invoking user; under sudo, who called it; as plain root, the project's owner; `SANDBOX_UID/GID` override (S2).
 * In a rootless engine's containers its owner is uid 0, and every other number is a user that the host does not know.
 *
 * @throws UsageError when the engine is another user's rootless one
 */
export function sandboxUser(facts: UserFacts): User {
  const { env, getuid, getgid, projectOwner, config, rootlessOwner } = facts;
  const caller = invokingUser(env, getuid?.(), getgid?.(), projectOwner);
  const mapped = rootlessOwner === undefined ? caller : insideRootless(caller, rootlessOwner);
  const uid = config.SANDBOX_UID ?? mapped?.uid;
  if (uid === undefined)
    throw new UsageError(
      `the engine is the rootless one of uid ${rootlessOwner}, in which a project of uid ${caller.uid} cannot be worked on`,
      { hint: 'use an engine of your own, or set SANDBOX_UID to a user of its containers' },
    );
  return { uid, gid: config.SANDBOX_GID ?? mapped?.gid ?? uid };
}

function insideRootless(caller: User, owner: number): User | undefined {
  return caller.uid === owner ? { uid: 0, gid: 0 } : undefined;
}

function invokingUser(env: Environment, uid: number | undefined, gid: number | undefined, owner: User): User {
  // Where the host has no user ids, the image's own first user is as good as any.
  if (uid === undefined || gid === undefined) return { uid: 1000, gid: 1000 };
  if (uid !== 0) return { uid, gid };
  const sudo = { uid: idOf(env.SUDO_UID), gid: idOf(env.SUDO_GID) };
  if (sudo.uid !== undefined && sudo.uid !== 0) return { uid: sudo.uid, gid: sudo.gid ?? sudo.uid };
  return owner;
}

function idOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,10}$/.test(text) && Number(text) <= 2_147_483_647
    ? Number(text)
    : undefined;
}
