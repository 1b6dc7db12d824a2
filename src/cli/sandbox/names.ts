/**
 * The names of everything an installation makes on an engine (S1, S18). A volume's name is the proof that it is
 * ours; a container's is readable for people and distinct by a hash, whatever the project's path holds.
 */
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { UsageError } from '../../lib/errors.ts';
import { DomainId } from '../config/domain-id.ts';
import type { InstallationPrefix } from '../config/keys.ts';

const AGENT_STATE = 'pi-agent-state';
const SESSIONS = 'pi-sessions-';
const DOMAIN_STATE = 'pi-domain-state-';
const NETWORK = 'pi-network-';
const SANDBOX = 'pi-sandbox';

const SLUG_LENGTH = 40;
const HASH_LENGTH = 16;

export type VolumeRole = 'agent-state' | 'sessions' | 'domain-state';

export interface VolumeNames {
  readonly agentState: string;
  readonly sessions: string;
  readonly domainState: string;
}

/** The three volumes that a domain's sandboxes mount. */
export function volumeNames(prefix: InstallationPrefix, domain: DomainId): VolumeNames {
  return {
    agentState: `${prefix}${AGENT_STATE}`,
    sessions: `${prefix}${SESSIONS}${domain}`,
    domainState: `${prefix}${DOMAIN_STATE}${domain}`,
  };
}

/** What a volume of that name is to this installation; undefined when it is not ours (the engine's filter matches substrings, S1). */
export function volumeOfName(
  prefix: InstallationPrefix,
  name: string,
): { role: VolumeRole; domain: DomainId | undefined } | undefined {
  if (!name.startsWith(prefix)) return undefined;
  const rest = name.slice(prefix.length);
  if (rest === AGENT_STATE) return { role: 'agent-state', domain: undefined };
  for (const [stem, role] of [
    [SESSIONS, 'sessions'],
    [DOMAIN_STATE, 'domain-state'],
  ] as const) {
    const domain = rest.startsWith(stem) ? DomainId.safeParse(rest.slice(stem.length)).data : undefined;
    if (domain !== undefined) return { role, domain };
  }
  return undefined;
}

/** The bridge network that a domain's sandboxes share (S17). */
export function networkName(prefix: InstallationPrefix, domain: DomainId): string {
  return `${prefix}${NETWORK}${domain}`;
}

/** The domain of one of our networks; undefined when the name is not ours. */
export function domainOfNetworkName(prefix: InstallationPrefix, name: string): DomainId | undefined {
  const stem = `${prefix}${NETWORK}`;
  return name.startsWith(stem) ? DomainId.safeParse(name.slice(stem.length)).data : undefined;
}

/** Repository of the images that this installation builds; the tag is the hash of what goes in (S21). */
export function imageRepository(prefix: InstallationPrefix): string {
  return `${prefix}${SANDBOX}`;
}

export function imageName(prefix: InstallationPrefix, contentHash: string): string {
  return `${imageRepository(prefix)}:${contentHash}`;
}

/**
 * The container of a project in a domain, at most 106 characters of `[a-z0-9_.-]`. Engines that cannot cut
 * containers off from each other give the sandbox a network of its own under the same name.
 *
 * @throws UsageError for a path that no engine and no log line can carry (NUL, line breaks).
 */
export function sandboxName(prefix: InstallationPrefix, domain: DomainId, project: string): string {
  refuseUnspeakable(project);
  const hash = hashOf([prefix, domain, project]).slice(0, HASH_LENGTH);
  return `${prefix}${SANDBOX}-${slugOf(`${domain}-${basename(project)}`)}-${hash}`;
}

/** Whether a word has the form of {@link sandboxName}, as `ps --all` prints it. */
export function isSandboxName(prefix: InstallationPrefix, word: string): boolean {
  return word.startsWith(`${prefix}${SANDBOX}-`) && /^[a-z0-9_.-]{1,128}$/.test(word);
}

/** Refuses paths with control characters, and text that is not valid Unicode (two such could look equal). */
export function refuseUnspeakable(path: string): void {
  const control = /\p{Cc}/u.exec(path);
  if (control === null && Buffer.from(path, 'utf8').toString('utf8') === path) return;
  throw new UsageError(
    `the project path ${JSON.stringify(path)} contains ${control === null ? 'invalid text' : 'a control character'}, which a sandbox cannot be named after`,
    { hint: 'rename the directory' },
  );
}

/** Each part preceded by its length in bytes: no two different lists give the same input. */
function hashOf(parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:${part}`);
  return hash.digest('hex');
}

function slugOf(text: string): string {
  const slug = text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-');
  return slug.slice(0, SLUG_LENGTH).replace(/^-+|-+$/g, '') || 'project';
}
