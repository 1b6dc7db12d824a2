/** Finding the one Session that a person means: by id, by the start of an id, or by path. */
import { systemClock } from '../lib/clock.ts';
import { entriesOf, statChild } from '../lib/directory-entries.ts';
import { type DirectoryHandle, openChildDirectory } from '../lib/directory-handle.ts';
import { hasCode, UsageError } from '../lib/errors.ts';
import { safeForTerminal } from '../lib/redact.ts';
import { turns } from '../lib/turns.ts';
import { readSessionHeader, type SessionHeader, sessionFolderName } from '../pi/index.ts';
import { examine } from './candidates.ts';
import { inFolder } from './folders.ts';
import { hasSessionName, originalPlace, type Place, parsePlace, placePath, relativePath } from './layout.ts';
import type { Candidate } from './move.ts';
import { inHistory } from './own-directory.ts';
import type { History, HistoryNeeds, SessionFacts } from './types.ts';
import { type Found, walkSessions, walkTrash } from './walk.ts';

/** So many are named when it is not clear which one is meant. */
const MOST_CANDIDATES = 10;

export class SessionNotFoundError extends UsageError {}

/** Several fit: more of the id, or the path, is needed. */
export class AmbiguousSessionError extends UsageError {}

export type Selected = Candidate & SessionFacts;

/** Where it is looked for; `either` is the trash only where nothing in place fits. */
export type Where = 'place' | 'trash' | 'either';

/**
 * Where the Session is that `selector` names: `<id>`, a unique start of an id, or a path below the sessions directory
 * (`<folder>/<name>.jsonl`, `.trash/<day>/<folder>/<name>.jsonl.trashed`).
 *
 * @throws SessionNotFoundError, AmbiguousSessionError
 */
export async function findSession(
  history: History,
  selector: string,
  needs: HistoryNeeds = {},
): Promise<{ file: string; id: string; trashed: boolean }> {
  const { file, id, place } = await inHistory(history, (root) => select(root, selector, 'either', needs));
  return { file, id, trashed: place.day !== undefined };
}

export async function select(
  root: DirectoryHandle,
  selector: string,
  where: Where,
  needs: HistoryNeeds,
): Promise<Selected> {
  const now = (needs.clock ?? systemClock).now().getTime();
  if (selector.includes('/') || hasSessionName(selector)) return selectByPath(root, selector, where, now);
  // Every id begins with nothing, and the only Session there is must not be meant by that.
  if (selector === '') throw none('', where);
  for (const part of where === 'either' ? (['place', 'trash'] as const) : [where]) {
    const found = part === 'place' ? walkSessions(root) : walkTrash(root);
    const selected = await selectById(found, selector, now, needs);
    if (selected) return selected;
  }
  throw none(selector, where);
}

function none(selector: string, where: Where): SessionNotFoundError {
  const place = where === 'trash' ? 'in the trash ' : '';
  return new SessionNotFoundError(`no Session ${place}is named ${safeForTerminal(selector)}`, {
    hint: where === 'trash' ? 'see `pi-sandbox sessions log`' : 'see `pi-sandbox sessions list --sessions`',
  });
}

function selectByPath(root: DirectoryHandle, selector: string, where: Where, now: number): Selected {
  const place = parsePlace(selector);
  const fits = place && (where === 'either' || (where === 'trash') === (place.day !== undefined));
  if (!place || !fits) throw none(selector, where);
  try {
    return inFolder(root, place, (at) => {
      const stats = statChild(at, place.name);
      if (!stats) throw none(selector, where);
      const session = examine({ kind: 'file', at, place, stats }, now);
      if ('kind' in session)
        throw new UsageError(
          `${safeForTerminal(selector)} is no Session: ${safeForTerminal(session.reason)}`,
        );
      return session;
    });
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG')) throw none(selector, where);
    throw error;
  }
}

/** An exact id wins over starts of ids; of several copies of one place the newest is taken. */
async function selectById(
  files: Iterable<Found>,
  selector: string,
  now: number,
  { signal }: HistoryNeeds,
): Promise<Selected | undefined> {
  const [exact, starting]: [Matches, Matches] = [matches(), matches()];
  const turn = turns(signal);
  for (const found of files) {
    if (turn.due()) await turn.give();
    if (found.kind !== 'file') continue;
    const header = headerOf(found);
    if (!header?.id.startsWith(selector)) continue;
    const session = examine(found, now);
    if (!('kind' in session)) (session.id === selector ? exact : starting).add(session);
  }
  return exact.only(selector) ?? starting.only(selector);
}

function headerOf({ at, place }: { at: DirectoryHandle; place: Place }): SessionHeader | undefined {
  try {
    return readSessionHeader(at.at(place.name));
  } catch {
    return undefined;
  }
}

interface Matches {
  add(session: Selected): void;
  /** @throws AmbiguousSessionError when there are several */
  only(selector: string): Selected | undefined;
}

function matches(): Matches {
  const kept = new Map<string, Selected>();
  let more = 0;
  return {
    add(session) {
      const key = placePath(originalPlace(session.place) ?? session.place);
      const other = kept.get(key);
      if (other) kept.set(key, isNewerCopy(session.place, other.place) ? session : other);
      else if (kept.size < MOST_CANDIDATES) kept.set(key, session);
      else more++;
    },
    only(selector) {
      const [first] = kept.values();
      if (kept.size < 2) return first;
      const files = [...kept.values()].map(({ file, id }) => `${id} (${file})`);
      if (more > 0) files.push(`${more} more`);
      throw new AmbiguousSessionError(
        safeForTerminal(`${selector} can be any of ${kept.size + more} Sessions: ${files.join(', ')}`),
        { hint: 'give more of the id, or the path' },
      );
    },
  };
}

/** Copies of one day are numbered: `.trashed`, `.2.trashed`, …, `.10.trashed`. */
export function isNewerCopy(a: Place, b: Place): boolean {
  if (a.day !== b.day) return (a.day ?? '') > (b.day ?? '');
  return a.name.length === b.name.length ? a.name > b.name : a.name.length > b.name.length;
}

/**
 * The Session that `pi -c` continues in this working directory, relative to the sessions directory: the newest file of
 * the directory's folder whose header has that very directory.
 */
export function newestSessionFile(history: History, cwd: string): string | undefined {
  const folder = sessionFolderName(cwd);
  return inHistory(history, (root) => {
    let at: DirectoryHandle;
    try {
      at = openChildDirectory(root, folder);
    } catch (error) {
      if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined;
      throw error;
    }
    try {
      return newestIn(at, folder, cwd);
    } finally {
      at.close();
    }
  });
}

function newestIn(at: DirectoryHandle, folder: string, cwd: string): string | undefined {
  let newest: { file: string; mtimeMs: number } | undefined;
  for (const { name } of entriesOf(at)) {
    const stats = hasSessionName(name) ? statChild(at, name) : undefined;
    if (!stats?.isFile() || (newest && stats.mtimeMs <= newest.mtimeMs)) continue;
    const place = { day: undefined, folder, name };
    if (headerOf({ at, place })?.cwd === cwd)
      newest = { file: relativePath(folder, name), mtimeMs: stats.mtimeMs };
  }
  return newest?.file;
}
