/** The Sessions of a plain pi: whose each is, and a tar of one domain's (S15). The directory may change at this moment. */
import { closeSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { type DirectoryHandle, openChildFile, openDirectory } from '../../lib/directory-handle.ts';
import { messageOf, PiSandboxError } from '../../lib/errors.ts';
import { readOpenSessionHeader, sessionFolderName } from '../../pi/index.ts';
import type { DomainTable } from '../../wire/index.ts';
import { tarOf } from '../export.ts';
import { type Place, placePath } from '../layout.ts';
import { domainOfCwd } from '../table.ts';
import { type FoundFile, walkSessions } from '../walk.ts';
import { MAX_SESSION_BYTES } from './receive.ts';

/** Different directories that a survey tells apart (rule 7). */
const MAX_DIRECTORIES = 1_000;
const MAX_EXAMPLES = 100;

/** Where a plain pi keeps Sessions. */
export interface SessionSource {
  readonly directory: string;
  /** They lie flat, as with pi's `sessionDir`; in a sandbox each is looked for in its working directory's folder. */
  readonly flat?: boolean;
}

interface Count {
  count: number;
  bytes: number;
  /** Of those: their file's time lies before this survey's `oldestKept`. */
  expired: number;
}

export interface SessionSurvey {
  readonly domains: Map<string, Count>;
  /** Some recorded working directories of Sessions that have a domain. */
  readonly directories: Set<string>;
  /** Of no domain, by recorded working directory; hostile. */
  readonly unowned: Map<string, Count>;
  /** Sessions of no domain in directories beyond the first thousand. */
  unownedMore: number;
  /** Named like Sessions, without a readable header: nobody can tell whose they are. */
  damaged: number;
  /** Links, folders in folders and what else is no Session. */
  readonly problems: { file: string; reason: string }[];
  problemsMore: number;
}

export interface SurveyOptions {
  readonly table: DomainTable;
  /** A Session of this domain that was last changed before this moment is `expired`; undefined: never. */
  readonly oldestKept?: (domain: string) => number | undefined;
}

const MAX_PROBLEMS = 200;

/** What there is and whose it is; opens every file for its header. @throws FileError */
export function surveySessions(sources: readonly SessionSource[], options: SurveyOptions): SessionSurvey {
  const survey: SessionSurvey = {
    domains: new Map(),
    directories: new Set(),
    unowned: new Map(),
    unownedMore: 0,
    damaged: 0,
    problems: [],
    problemsMore: 0,
  };
  for (const { directory } of sources) {
    const root = openDirectory(directory);
    try {
      for (const found of walkSessions(root)) {
        if (found.kind === 'problem') addProblem(survey, found.problem);
        else if (found.kind === 'file') add(survey, found, options);
      }
    } finally {
      root.close();
    }
  }
  return survey;
}

function add(survey: SessionSurvey, found: FoundFile, { table, oldestKept }: SurveyOptions): void {
  const { size, mtimeMs } = found.stats;
  const looked = look(found, table);
  if (looked.problem !== undefined) {
    addProblem(survey, looked.problem);
    return;
  }
  if (looked.header === undefined) {
    survey.damaged += 1;
    return;
  }
  const { domain, cwd = '(none)' } = looked;
  const list = domain === undefined ? survey.unowned : survey.domains;
  const key = domain ?? cwd;
  if (!list.has(key) && list.size >= MAX_DIRECTORIES) {
    survey.unownedMore += 1;
    return;
  }
  const count = list.get(key) ?? { count: 0, bytes: 0, expired: 0 };
  if (domain !== undefined && survey.directories.size < MAX_EXAMPLES) survey.directories.add(cwd);
  const limit = domain === undefined ? undefined : oldestKept?.(domain);
  list.set(key, {
    count: count.count + 1,
    bytes: count.bytes + size,
    expired: count.expired + (limit !== undefined && mtimeMs < limit ? 1 : 0),
  });
}

interface Looked {
  readonly header?: object | undefined;
  readonly domain?: string | undefined;
  readonly cwd?: string | undefined;
  readonly problem?: { file: string; reason: string };
}

function look({ at, place, stats }: FoundFile, table: DomainTable): Looked {
  const file = placePath(place);
  if (stats.size > MAX_SESSION_BYTES)
    return { problem: { file, reason: 'it is larger than a Session can be' } };
  try {
    const { fd } = openChildFile(at, place.name);
    try {
      const header = readOpenSessionHeader(fd);
      return { header, cwd: header?.cwd, domain: header && domainOfCwd(table, header.cwd) };
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    if (!(error instanceof PiSandboxError)) throw error;
    return { problem: { file, reason: messageOf(error) } };
  }
}

function addProblem(survey: SessionSurvey, { file, reason }: { file: string; reason: string }): void {
  if (survey.problems.length >= MAX_PROBLEMS) survey.problemsMore += 1;
  else survey.problems.push({ file, reason });
}

/** A tar of one domain's Sessions, each by the path that it will have. */
export async function sessionsOfDomain(
  sources: readonly SessionSource[],
  table: DomainTable,
  domain: string,
): Promise<Readable> {
  return tarOf(function* () {
    for (const { directory, flat } of sources) {
      const root: DirectoryHandle = openDirectory(directory);
      try {
        for (const found of walkSessions(root)) {
          if (found.kind !== 'file') continue;
          const looked = look(found, table);
          if (looked.domain !== domain) continue;
          yield {
            ...found,
            place: flat === true ? inFolder(found.place, looked.cwd) : found.place,
            name: found.place.name,
          };
        }
      } finally {
        root.close();
      }
    }
  });
}

function inFolder(place: Place, cwd: string | undefined): Place {
  return cwd === undefined ? place : { ...place, folder: sessionFolderName(cwd) };
}
