/** Which expired Sessions a start leaves alone because it names them (S11). */
import { realpathSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { pathsOf, type Roots } from '../../agent-dir/index.ts';
import { type History, type NamedHere, newestSessionFile } from '../../history/index.ts';
import { type NamedSessions, namedSessions, sessionFolderName } from '../../pi/index.ts';
import type { RunRequest } from '../../wire/index.ts';

/** What a start names, as the history knows it. */
export function namedHere(
  roots: Roots,
  history: History,
  request: Pick<RunRequest, 'program' | 'arguments' | 'directory'>,
): NamedHere {
  const named = namedSessions(argumentsOfPi(request));
  const cwd = request.directory;
  const places = { root: realPath(roots.sessions), home: pathsOf(roots).home, cwd };
  const files = named.files.map((file) => below(places, file));
  if (named.newest) files.push(newestSessionFile(history, cwd));
  return { ids: named.ids, files: known(files), folders: known(foldersOf(named, places)) };
}

function known(paths: readonly (string | undefined)[]): string[] {
  return [...new Set(paths.filter((path) => path !== undefined))];
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
function foldersOf({ choice, newest, directory }: NamedSessions, places: Places): (string | undefined)[] {
  const own = choice ? [sessionFolderName(places.cwd)] : [];
  if (directory === undefined || !(choice || newest)) return own;
  const given = below(places, directory);
  return [...own, given === '' ? '.' : given];
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
