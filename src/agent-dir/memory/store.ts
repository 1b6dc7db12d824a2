/**
 * The profile on disk (W11): `USER.md` while it fits its budget, else shards with an index, and a `USER.md` that points
 * there. Everything is done under one kernel lock, which all sandboxes of a domain share.
 */
import { unlinkSync } from 'node:fs';
import { makeStateDirectory } from '../../lib/atomic-file.ts';
import { hasCode } from '../../lib/errors.ts';
import { FileError } from '../../lib/file-error.ts';
import type { AgentDir } from '../agent-directory.ts';
import { preferencesDir, rootFile, stateDir, stateFile } from '../places.ts';
import { digestOf, readText, writeText } from './files.ts';
import { type PendingEdit, removePending, writePending } from './journal.ts';
import { entriesOfText, normalized, saying } from './profile.ts';
import {
  INDEX_NAME,
  MAX_SHARDS,
  POINTER,
  renderIndex,
  renderShards,
  SHARD_BYTES,
  shardName,
  shardText,
} from './shards.ts';

/** A file that a person wrote is read up to so many bytes; a shard may have been added to by hand. */
export const MAX_FILE_BYTES = SHARD_BYTES * MAX_SHARDS;
const USER = 'USER.md';

export interface Stored {
  /** The whole profile. */
  readonly profile: string;
  /** How many shards there are. */
  readonly shards: number;
  /** It has outgrown `USER.md`, and stays in shards from then on. */
  readonly sharded: boolean;
  /** The texts of the files, by name below the agent directory. */
  readonly files: ReadonlyMap<string, string>;
}

export async function readStored(agentDir: AgentDir): Promise<Stored> {
  const files = new Map<string, string>();
  const user = await readText(rootFile(agentDir, USER), MAX_FILE_BYTES);
  if (user !== undefined) files.set(USER, user);
  const texts: string[] = [];
  for (let number = 1; number <= MAX_SHARDS; number++) {
    const name = shardName(number);
    const content = await readText(preferencesDir(agentDir, name), MAX_FILE_BYTES);
    // One that somebody removed takes nothing of those behind it.
    if (content === undefined) continue;
    files.set(name, content);
    texts.push(shardText(content));
  }
  const profile = texts.join('');
  const { own, points } = withoutPointer(user ?? '');
  const sharded = texts.length > 0 || points;
  return { profile: merged(profile, own), shards: texts.length, sharded, files };
}

/** An editor may have changed the end of it, or the empty lines in it; then its entries tell. */
function withoutPointer(user: string): { own: string; points: boolean } {
  const rest = user.replace(POINTER, '');
  if (rest !== user) return { own: rest, points: true };
  const pointer = new Set(entriesOfText(POINTER).map(saying));
  const entries = entriesOfText(user);
  const own = entries.filter((entry) => !pointer.has(saying(entry)));
  // Its heading alone may be a user's own.
  if (entries.length - own.length < pointer.size) return { own: user, points: false };
  return { own: own.join(''), points: true };
}

/** What somebody wrote into `USER.md` by hand beside the shards belongs to the profile too, each saying once. */
function merged(profile: string, own: string): string {
  if (profile === '') return normalized(own);
  const known = new Set(entriesOfText(profile).map(saying));
  const more = entriesOfText(normalized(own)).filter((entry) => !known.has(saying(entry)));
  return more.length === 0 ? normalized(profile) : `${normalized(profile)}\n${normalized(more.join(''))}`;
}

/** Writes the profile, in one step where it fits, else so that an interruption is made good by {@link finish}. */
export async function store(
  agentDir: AgentDir,
  before: Stored,
  profile: string,
  budget: number,
): Promise<{ shards: number }> {
  if (!before.sharded && Buffer.byteLength(profile) <= budget) {
    await writeText(rootFile(agentDir, USER), profile, MAX_FILE_BYTES);
    return { shards: 0 };
  }
  const shards = renderShards(profile).length;
  const pending: PendingEdit = {
    profile,
    before: Object.fromEntries([...before.files].map(([name, text]) => [name, digestOf(text)])),
  };
  await writePending(agentDir, pending);
  await finish(agentDir, pending);
  return { shards };
}

/**
 * Writes what was laid down, as often as it takes: the shards, their index, then the pointer, and last what is too much
 * goes. A file that somebody changed after the interruption is kept beside.
 */
export async function finish(agentDir: AgentDir, pending: PendingEdit): Promise<void> {
  const { profile, before } = pending;
  const shards = renderShards(profile);
  await makeStateDirectory(preferencesDir(agentDir));
  const write = async (name: string, path: string, text: string): Promise<void> => {
    await keepForeign(agentDir, name, path, [before[name], digestOf(text)]);
    await writeText(path, text, MAX_FILE_BYTES);
  };
  for (const [at, text] of shards.entries()) {
    const name = shardName(at + 1);
    await write(name, preferencesDir(agentDir, name), text);
  }
  await writeText(preferencesDir(agentDir, INDEX_NAME), renderIndex(profile), MAX_FILE_BYTES);
  await write(USER, rootFile(agentDir, USER), POINTER);
  // From the end, so that there is never a gap with something behind it.
  for (let number = MAX_SHARDS; number > shards.length; number--) {
    const name = shardName(number);
    if (before[name] === undefined) continue;
    const path = preferencesDir(agentDir, name);
    await keepForeign(agentDir, name, path, [before[name]]);
    remove(path);
  }
  removePending(agentDir);
}

/** Undisturbed there is nothing to keep: each file is as it was before the edit, or as it is after it. */
async function keepForeign(
  agentDir: AgentDir,
  name: string,
  path: string,
  expected: readonly (string | undefined)[],
): Promise<void> {
  const text = await readText(path, MAX_FILE_BYTES);
  if (text === undefined || expected.includes(digestOf(text))) return;
  const directory = 'user-preferences-conflicts';
  await makeStateDirectory(stateDir(agentDir, directory));
  const kept = stateFile(agentDir, directory, `${name}.${digestOf(text).slice(0, 16)}`);
  await writeText(kept, text, MAX_FILE_BYTES);
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw new FileError('remove', path, error);
  }
}
