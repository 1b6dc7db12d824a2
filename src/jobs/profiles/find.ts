/** Where profiles lie (J7): the project's go before the user's, and those before the ones that are shipped. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type AgentDir, agentsDir, isTrusted, parseDecisions, rootFile } from '../../agent-dir/index.ts';
import { readRegularFile } from '../../lib/bounded-read.ts';
import { ConfigError, hasCode, PiSandboxError, UsageError } from '../../lib/errors.ts';
import { FileError } from '../../lib/file-error.ts';
import type { JobProject } from '../project.ts';
import { type Profile, ProfileError, parseProfile } from './profile.ts';

/** Of one directory (rule 7). */
const MOST_PROFILES = 500;
const MAX_BYTES = 256 * 1_024;
const MAX_SETTINGS_BYTES = 4 * 1_024 * 1_024;

export type ProfileSource = 'project' | 'user' | 'shipped';

export interface FoundProfile {
  readonly profile: Profile;
  readonly source: ProfileSource;
  readonly file: string;
}

export interface ProfilePlaces {
  readonly project: JobProject;
  readonly agentDir: AgentDir;
  /** Directory of the profiles that come with the program. */
  readonly shipped: string;
}

export interface ProfileList {
  /** By name; of several with one name only the one that counts. */
  readonly profiles: readonly FoundProfile[];
  readonly bad: readonly ProfileError[];
  /** The project has profiles, and pi does not trust it: they are not read. */
  readonly untrusted: boolean;
}

export async function listProfiles(places: ProfilePlaces): Promise<ProfileList> {
  const byName = new Map<string, FoundProfile>();
  const bad: ProfileError[] = [];
  const { directories, untrusted } = await directoriesOf(places);
  for (const { source, path, within } of directories) {
    for (const file of await markdownIn(path)) {
      try {
        const profile = await readProfile(file, within);
        if (profile && !byName.has(profile.name)) byName.set(profile.name, { profile, source, file });
      } catch (error) {
        if (error instanceof ProfileError) bad.push(error);
        else if (error instanceof PiSandboxError) bad.push(new ProfileError(file, error.message));
        else throw error;
      }
    }
  }
  const profiles = [...byName.values()].sort((a, b) => (a.profile.name < b.profile.name ? -1 : 1));
  return { profiles, bad, untrusted };
}

/**
 * @throws UsageError when there is none of that name; ProfileError when the one that there is cannot be used
 */
export async function findProfile(places: ProfilePlaces, name: string): Promise<Profile> {
  const { profiles, bad, untrusted } = await listProfiles(places);
  const found = profiles.find(({ profile }) => profile.name === name);
  // A bad file of this name would have gone first, or there is none else: its error says more than that it is not there.
  const broken = bad.find(({ file }) => file.endsWith(`/${name}.md`));
  if (broken && found?.source !== 'project') throw broken;
  if (found) return found.profile;
  const trust = untrusted ? ` (those of ${places.project.directory} are not read: pi does not trust it)` : '';
  throw new UsageError(`there is no profile "${name.slice(0, 100)}"${trust}`, {
    hint: `there are: ${profiles.map(({ profile }) => profile.name).join(', ')}`,
  });
}

interface Directory {
  readonly source: ProfileSource;
  readonly path: string;
  /** Files in it may be links, but only to what lies in here. */
  readonly within: string;
}

async function directoriesOf(
  places: ProfilePlaces,
): Promise<{ directories: Directory[]; untrusted: boolean }> {
  const { project, agentDir, shipped } = places;
  const directories: Directory[] = [
    { source: 'user', path: agentsDir(agentDir), within: '/' },
    { source: 'shipped', path: shipped, within: '/' },
  ];
  const own: Directory = {
    source: 'project',
    path: join(project.real, '.pi', 'agents'),
    within: project.real,
  };
  if ((await markdownIn(own.path)).length === 0) return { directories, untrusted: false };
  if (!(await trusts(agentDir, project.real))) return { directories, untrusted: true };
  return { directories: [own, ...directories], untrusted: false };
}

/** As pi decides it without a terminal: its decisions, then `defaultProjectTrust` of the user's settings. */
async function trusts(agentDir: AgentDir, directory: string): Promise<boolean> {
  const text = await read(rootFile(agentDir, 'trust.json'), MAX_SETTINGS_BYTES, '/');
  const decisions = text === undefined ? new Map() : parseDecisions(text);
  // pi would not even start with such a file.
  if (decisions === undefined) throw new ConfigError(rootFile(agentDir, 'trust.json'), 'it cannot be read');
  return isTrusted(decisions, directory, await trustsByDefault(agentDir));
}

async function trustsByDefault(agentDir: AgentDir): Promise<boolean> {
  const text = await read(rootFile(agentDir, 'settings.json'), MAX_SETTINGS_BYTES, '/');
  try {
    const settings: unknown = JSON.parse(text ?? '{}');
    if (typeof settings !== 'object' || settings === null) return false;
    return 'defaultProjectTrust' in settings && settings.defaultProjectTrust === 'always';
  } catch {
    // pi goes on with its defaults too.
    return false;
  }
}

async function markdownIn(directory: string): Promise<string[]> {
  try {
    const names = await readdir(directory);
    const profiles = names.filter((name) => name.endsWith('.md') && !name.startsWith('.')).sort();
    return profiles.slice(0, MOST_PROFILES).map((name) => join(directory, name));
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw new FileError('read directory', directory, error);
  }
}

async function readProfile(file: string, within: string): Promise<Profile | undefined> {
  const content = await read(file, MAX_BYTES, within);
  if (content === undefined) return undefined;
  return parseProfile(file, content, file.slice(file.lastIndexOf('/') + 1, -'.md'.length));
}

async function read(path: string, maxBytes: number, within: string): Promise<string | undefined> {
  return (await readRegularFile(path, { maxBytes, within }))?.toString('utf8');
}
