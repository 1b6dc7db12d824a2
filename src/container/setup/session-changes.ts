import { isDeepStrictEqual } from 'node:util';
import { CONFIG_FILES, MERGED_FILES, type Roots } from '../../agent-dir/index.ts';
import { readRegularFile } from '../../lib/bounded-read.ts';
import { LimitError, messageOf } from '../../lib/errors.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import type { KeptChanges } from '../../wire/index.ts';
import type { PublishedMerge } from './merge.ts';

/** Keys that pi writes by itself at every start: no change a person made. */
const WRITTEN_BY_PI = new Set(['lastChangelogVersion', 'deviceId', 'trackingId']);
const MAX_BYTES = 16 * 1024 * 1024;
/** What a line names at most, and how much of each; a session can write what it likes (rule 7). */
const MAX_KEYS = 20;
const MAX_KEY_LENGTH = 80;

/** Which keys of a merged file a session changed; `keys` is empty for a file that is not JSON. */
export interface SessionChange {
  file: string;
  keys: string[];
}

/**
 * What sessions changed in the merged configuration since it was published. Such changes go with the container, so
 * the user is told which they are (S8).
 */
export async function sessionChanges(roots: Roots, merge: PublishedMerge): Promise<SessionChange[]> {
  const changes = await Promise.all([
    ...MERGED_FILES.map(async (file) => {
      const [before, after] = [
        await read(`${merge.pristine}/${file}`),
        await read(`${roots.memory}/${file}`),
      ];
      return changeOf(file, before, after);
    }),
    ...CONFIG_FILES.map(async (file) => {
      const before = merge.configFiles.get(file)?.toString('utf8');
      return changeOf(file, before, await read(`${merge.pristine}/config/${file}`));
    }),
  ]);
  return changes.filter((change) => change !== undefined);
}

/** Files whose entries are replaced one by one: a server or provider is kept by itself (S8). */
const GROUPS: Readonly<Record<string, string>> = { 'mcp.json': 'mcpServers', 'models.json': 'providers' };
/** More than this of changes is no person's work, and would not fit into one answer (rule 7). */
const MAX_KEPT_BYTES = 512 * 1024;

/**
 * The same changes with their values, for the level that the user wants to keep them in. The instructions of the levels
 * are one file here and cannot be taken apart again; what is no JSON any more is nothing to keep.
 *
 * @throws LimitError when they are too many or too long
 */
export async function keptChanges(roots: Roots, merge: PublishedMerge): Promise<KeptChanges> {
  const kept: KeptChanges = [];
  const add = (file: string, before: string | undefined, after: string | undefined): void => {
    if (before === after) return;
    if (file.endsWith('.json')) kept.push(...changedEntries(file, before, after));
    else kept.push({ file, path: [], ...(after === undefined ? {} : { value: after }) });
  };
  for (const file of MERGED_FILES) {
    if (!file.endsWith('.json')) continue;
    add(file, await read(`${merge.pristine}/${file}`), await read(`${roots.memory}/${file}`));
  }
  for (const file of CONFIG_FILES) {
    const path = `${merge.pristine}/config/${file}`;
    // Why it cannot be read is no text that anybody would keep.
    const isReadable = await readRegularFile(path, { maxBytes: MAX_BYTES }).then(
      () => true,
      () => false,
    );
    if (isReadable) add(file, merge.configFiles.get(file)?.toString('utf8'), await read(path));
  }
  if (kept.length > 500 || JSON.stringify(kept).length > MAX_KEPT_BYTES)
    throw new LimitError('sessions changed more of the configuration than can be kept at once');
  return kept;
}

function changedEntries(file: string, before: string | undefined, after: string | undefined): KeptChanges {
  const [was, is] = [parse(before), parse(after)];
  if (was === undefined || is === undefined) return [];
  const group = GROUPS[file];
  return changedKeys(was, is).flatMap((key) => {
    if (key !== group) return [{ file, path: [key], ...entryOf(is, key) }];
    const [wasInside, isInside] = [entriesOf(was.get(key)), entriesOf(is.get(key))];
    return changedKeys(wasInside, isInside).map((name) => ({
      file,
      path: [key, name],
      ...entryOf(isInside, name),
    }));
  });
}

function entryOf(values: Map<string, unknown>, key: string): { value?: unknown } {
  return values.has(key) ? { value: values.get(key) } : {};
}

function entriesOf(value: unknown): Map<string, unknown> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? new Map(Object.entries(value)) : new Map();
}

function changeOf(
  file: string,
  before: string | undefined,
  after: string | undefined,
): SessionChange | undefined {
  if (before === after) return undefined;
  if (!file.endsWith('.json')) return { file, keys: [] };
  const [was, is] = [parse(before), parse(after)];
  if (was === undefined || is === undefined) return { file, keys: [] };
  const keys = changedKeys(was, is);
  return keys.length === 0 ? undefined : { file, keys };
}

/** One line for the user, or undefined when nothing changed. */
export function describeChanges(changes: readonly SessionChange[]): string | undefined {
  if (changes.length === 0) return undefined;
  const parts = changes.map(({ file, keys }) => (keys.length === 0 ? file : `${file} (${nameSome(keys)})`));
  return `changed in the sandbox and gone with it: ${parts.join('; ')} (to keep it: pi-sandbox config keep)`;
}

function nameSome(keys: readonly string[]): string {
  const named = keys.slice(0, MAX_KEYS).map((key) => safeForTerminal(key.slice(0, MAX_KEY_LENGTH)));
  return keys.length > MAX_KEYS ? `${named.join(', ')} and ${keys.length - MAX_KEYS} more` : named.join(', ');
}

function changedKeys(before: Map<string, unknown>, after: Map<string, unknown>): string[] {
  const keys = new Set([...before.keys(), ...after.keys()]);
  return [...keys]
    .filter((key) => !WRITTEN_BY_PI.has(key) && !isDeepStrictEqual(before.get(key), after.get(key)))
    .sort();
}

/** The text of a regular file; none where there is none. What cannot be read is a change too, named by its reason. */
async function read(path: string): Promise<string | undefined> {
  try {
    return (await readRegularFile(path, { maxBytes: MAX_BYTES }))?.toString('utf8');
  } catch (error) {
    return messageOf(error);
  }
}

/** Undefined for what is no JSON object (any more). */
function parse(text: string | undefined): Map<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? new Map(Object.entries(value)) : undefined;
  } catch {
    return undefined;
  }
}
