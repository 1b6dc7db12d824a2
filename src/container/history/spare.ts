/** Which expired Sessions a start leaves alone because it names them (S11). */
import { realpathSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { pathsOf, type Roots } from '../../agent-dir/index.ts';
import { type History, newestSessionFile, type SessionFacts } from '../../history/index.ts';
import { type NamedSessions, namedSessions, sessionFolderName } from '../../pi/index.ts';
import type { RunRequest } from '../../wire/index.ts';

/** The test that a prune asks about each expired Session: true for one that it must not touch. */
export function spareOf(
  roots: Roots,
  history: History,
  request: Pick<RunRequest, 'program' | 'arguments' | 'directory'>,
): (session: SessionFacts) => boolean {
  const named = namedSessions(argumentsOfPi(request));
  const cwd = request.directory;
  const places = { root: realPath(roots.sessions), home: pathsOf(roots).home, cwd };
  const files = new Set(named.files.map((file) => below(places, file)));
  if (named.newest) files.add(newestSessionFile(history, cwd));
  const folders = foldersOf(named, places);
  return ({ file, id }) =>
    files.has(file) || folders.has(dirname(file)) || named.ids.some((start) => id.startsWith(start));
}

/** Also `shell -- pi …` starts a pi. */
function argumentsOfPi({
  program,
  arguments: given,
}: Pick<RunRequest, 'program' | 'arguments'>): readonly string[] {
  if (program === 'pi') return given;
  return program === 'command' && basename(given[0] ?? '') === 'pi' ? given.slice(1) : [];
}

interface Places {
  root: string;
  home: string;
  cwd: string;
}

/**
 * The folders, relative to the history, in which every Session is spared: what `-r` is about to show, and a
 * `--session-dir` within the history in which `-c` looks for the newest.
 */
function foldersOf({ choice, newest, directory }: NamedSessions, places: Places): Set<string | undefined> {
  const own = choice ? [sessionFolderName(places.cwd)] : [];
  const given = directory !== undefined && (choice || newest) ? [below(places, directory) || '.'] : [];
  return new Set([...own, ...given]);
}

/** A path given to pi, relative to the history and by its real name; undefined for one that is elsewhere. */
function below({ root, home, cwd }: Places, given: string): string | undefined {
  const expanded = given === '~' || given.startsWith('~/') ? join(home, given.slice(1)) : given;
  const path = relative(root, realPath(resolve(cwd, expanded)));
  return path.startsWith('..') ? undefined : path;
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
