/** What a selftest is judged by: what was asked for, what the engine says, and what was seen from inside. */
import {
  agentLinks,
  frontLinks,
  pathsOf,
  type Roots,
  rootEntry,
  SHARED_HOME_LINKS,
  signInLinks,
} from '../../agent-dir/index.ts';
import type { MountSpec, TmpfsSpec } from '../../engine/index.ts';
import type { SelftestFacts } from '../../wire/index.ts';
import type { Config, DomainId } from '../config/index.ts';
import type { VolumeNames } from '../sandbox/names.ts';
import type { EngineView } from './engine-view.ts';

/** What the sandbox should be, as the host worked it out. */
export interface Expected {
  readonly config: Config;
  readonly domain: DomainId;
  readonly project: string;
  readonly user: { readonly uid: number; readonly gid: number };
  readonly roots: Roots;
  readonly volumes: VolumeNames;
  /** Directories of the project's git that a start mounts besides. */
  readonly mounts: readonly MountSpec[];
  readonly tmpfs: readonly TmpfsSpec[];
  /** What a start would give a new container now; one that was joined may have been given something else. */
  readonly memoryBytes: number;
  /** The host has certificates for the sandbox to trust. */
  readonly certificates: boolean;
}

export interface Evidence {
  readonly expected: Expected;
  readonly engine: EngineView;
  readonly facts: SelftestFacts;
}

/** Every link of a sandbox with where it should lead (S2, S3). */
export function expectedLinks({ roots, config }: Pick<Expected, 'roots' | 'config'>): Map<string, string> {
  const { agent, home, homeAgent } = pathsOf(roots);
  const links = new Map<string, string>([
    [`${home}/.pi/domain`, roots.domain],
    [homeAgent, agent],
  ]);
  for (const { name, target } of agentLinks(roots, { privatePackages: config.PRIVATE_PACKAGES })) {
    links.set(rootEntry(agent, name), target);
  }
  for (const name of [...SHARED_HOME_LINKS, ...config.SHARED_LINKS]) {
    links.set(`${home}/${name}`, `${roots.shared}/${name}`);
  }
  for (const { name, target } of signInLinks(roots)) {
    links.set(`${home}/${name}`, target);
  }
  for (const { name, target } of frontLinks(roots, config.SHARED_LINKS)) {
    links.set(`${roots.front}/${name}`, target);
  }
  return links;
}

/** Roots of the volumes, and the places in the shared one that others are mounted over (S2). */
export function ownedDirectories({ roots }: Pick<Expected, 'roots'>): string[] {
  const { shared, sessions, domain } = roots;
  const { home, sharedAgent } = pathsOf(roots);
  return [shared, `${shared}/.pi`, sharedAgent, sessions, domain, home];
}
