/** A run by its id, or by any beginning of it that is nobody else's (R2). */
import { type Dirent, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { hasCode } from '../lib/errors.ts';
import { FileError } from '../lib/file-error.ts';
import { RunError } from './errors.ts';
import { readManifest } from './files.ts';
import { isRunId, parseRunPrefix, type RunId } from './ids.ts';
import { type RunDirectory, type RunsPlace, runDirectory } from './places.ts';
import { readRun } from './view.ts';

/** Named in a refusal. */
const MOST_NAMED = 10;

/**
 * Whatever lies there under the id, also what is damaged.
 *
 * @param project real path: where several ids begin so, the one of this project is meant, if it is one
 * @throws InvalidRunIdError; RunError `not-found`, `ambiguous`; FileError
 */
export async function findRun(
  place: RunsPlace,
  text: string,
  { project }: { project?: string } = {},
): Promise<RunDirectory> {
  const prefix = parseRunPrefix(text);
  const found = isRunId(prefix) ? [prefix] : runIds(place).filter((id) => id.startsWith(prefix));
  const there = found.length === 1 ? await thoseThere(place, found) : found;
  const meant = there.length > 1 && project !== undefined ? await thoseOf(place, there, project) : there;
  const [id] = meant.length === 1 ? meant : there;
  if (id === undefined) {
    throw new RunError('not-found', `there is no run ${text}`, {
      hint: 'multi-agent runs list --all-projects shows all',
    });
  }
  if (meant.length === 1 || there.length === 1) return runDirectory(place, id);
  const named = there.slice(0, MOST_NAMED);
  throw new RunError('ambiguous', `${there.length} runs begin with ${text}: ${named.join(', ')}`, {
    hint: 'give more of the id',
    details: { runs: named },
  });
}

/** Every id that is taken, the newest first. @throws FileError */
export function runIds(place: RunsPlace): RunId[] {
  let entries: Dirent[];
  try {
    entries = readdirSync(place.root, { withFileTypes: true });
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw new FileError('read directory', place.root, error);
  }
  const ids: RunId[] = [];
  for (const entry of entries) if (entry.isDirectory() && isRunId(entry.name)) ids.push(entry.name);
  return ids.sort().reverse();
}

async function thoseThere(place: RunsPlace, ids: readonly RunId[]): Promise<RunId[]> {
  const views = await Promise.all(ids.map((id) => readRun(join(place.root, id))));
  return ids.filter((_, index) => views[index]?.kind !== 'none');
}

async function thoseOf(place: RunsPlace, ids: readonly RunId[], project: string): Promise<RunId[]> {
  const mine: RunId[] = [];
  for (const id of ids) {
    const facts = await readManifest(runDirectory(place, id));
    if (facts.kind === 'known' && facts.value.realProject === project) mine.push(id);
    if (mine.length > 1) break;
  }
  return mine;
}
