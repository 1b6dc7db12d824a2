/** Names of jobs and of the folders of projects (J1). */
import { statSync } from 'node:fs';
import { UsageError } from '../lib/errors.ts';

/** One component of a path: checked, never to be checked again. */
export type JobName = string & { readonly kind: 'JobName' };
/** What a project's directory becomes; two directories may become the same, so `job.json` has the real path. */
export type ProjectFolder = string & { readonly kind: 'ProjectFolder' };

const MAX_LENGTH = 64;
/** The folder of `/`: no other directory's, for `_` is never left of a path. */
const ROOT_FOLDER = '_';
/** A file name has 255 bytes at most; a longer folder would not be one. */
const MAX_FOLDER = 200;
const RESERVED = /^(?:con|prn|aux|nul|com[1-9]|lpt[1-9])$/;

/** A text that no job can be called. */
export class InvalidJobNameError extends UsageError {
  readonly given: string;

  constructor(given: string, reason: string) {
    super(`${JSON.stringify(given.slice(0, 100))} is no name of a job: ${reason}`, {
      hint: `use 1 to ${MAX_LENGTH} of a-z, 0-9 and "-"`,
    });
    this.given = given;
  }
}

export function isJobName(text: string): text is JobName {
  return objection(text) === undefined;
}

function objection(text: string): string | undefined {
  if (text === '') return 'it is empty';
  if (text.length > MAX_LENGTH) return `it is longer than ${MAX_LENGTH} characters`;
  if (!/^[a-z0-9-]+$/.test(text)) return 'it has another character';
  if (RESERVED.test(text)) return 'Windows keeps that name for a device';
  return undefined;
}

/** @throws InvalidJobNameError */
export function parseJobName(text: string): JobName {
  if (isJobName(text)) return text;
  throw new InvalidJobNameError(text, objection(text) ?? '');
}

/**
 * A name for a job that was given none: the first words of its prompt, or its profile. The caller finds out whether it
 * is taken, and then tries {@link numbered}.
 */
export function proposeJobName(text: string): JobName {
  const words = text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const name = words.slice(0, 5).join('-').slice(0, 32).replace(/-+$/, '');
  return isJobName(name) ? name : parseJobName('job');
}

/** `<name>-2`, `<name>-3` …, shortened where it would be too long. */
export function numbered(name: JobName, count: number): JobName {
  const ending = `-${count}`;
  return parseJobName(`${name.slice(0, MAX_LENGTH - ending.length)}${ending}`);
}

/**
 * The folder of a project (J1): every character of its path but ASCII letters and digits becomes `-`, one leading `-`
 * goes. `/` is `_`. A path too long for a file name keeps its end, which tells projects apart best.
 */
export function projectFolder(directory: string): ProjectFolder {
  const folder = directory.replace(/[^A-Za-z0-9]/g, '-').replace(/^-/, '');
  return asFolder(folder === '' ? ROOT_FOLDER : folder.slice(-MAX_FOLDER));
}

function asFolder(text: string): ProjectFolder {
  if (isFolder(text)) return text;
  throw new UsageError(`${JSON.stringify(text)} is no folder of a project`);
}

function isFolder(text: string): text is ProjectFolder {
  return text === ROOT_FOLDER || /^[A-Za-z0-9-]+$/.test(text);
}

/**
 * The directory a command is called in, as its user spells it: `$PWD` where that is the same directory, else the real
 * path (J1).
 */
export function logicalDirectory(env: NodeJS.ProcessEnv, real: string): string {
  const { PWD } = env;
  if (PWD === undefined || !PWD.startsWith('/')) return real;
  const [spelled, there] = [
    statSync(PWD, { throwIfNoEntry: false }),
    statSync(real, { throwIfNoEntry: false }),
  ];
  const same = spelled && there && spelled.ino === there.ino && spelled.dev === there.dev;
  return same ? PWD : real;
}
