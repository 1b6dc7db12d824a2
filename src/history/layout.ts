/** Names in a sessions directory: what is a Session, what is the trash's, what is the room's own. */
import { nameBeforeTrash, TRASH_DIRECTORY } from '../pi/index.ts';

export const DAY_MS = 86_400_000;

/** The room's own files. None is named `*.jsonl`: pi lists those of every folder here. */
export const OWN_DIRECTORY = '.history';
export const LOCK_FILE = 'lock';
export const LOG_FILE = 'deletions.log';
export const NOTICE_FILE = 'first-deletion-shown.json';

const SESSION_SUFFIX = '.jsonl';
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** The volume's marker, and marker and stage of the legacy migration, which stand beside the folders. */
const OTHERS_PREFIX = '.pi-sandbox-';

/** What stands in a sessions directory and is neither history nor foreign. */
export function isOurs(name: string): boolean {
  return name === TRASH_DIRECTORY || name === OWN_DIRECTORY || name.startsWith(OTHERS_PREFIX);
}

export function hasSessionName(name: string): boolean {
  return name.endsWith(SESSION_SUFFIX);
}

/** `YYYY-MM-DD` in UTC: the folder of the trash for what goes there at this moment. */
export function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}

export function isDay(name: string): boolean {
  return DAY.test(name) && !Number.isNaN(Date.parse(name));
}

/**
 * When a prune may delete what came into the trash on that day: its last Session has then been there for whole
 * `trashDays`. With the trash off that is at once.
 */
export function dayExpires(day: string, trashDays: number): Date {
  const start = Date.parse(day);
  return new Date(trashDays === 0 ? Math.min(start, 0) : start + (trashDays + 1) * DAY_MS);
}

/** Path below the sessions directory. */
export function relativePath(folder: string | undefined, name: string): string {
  return folder === undefined ? name : `${folder}/${name}`;
}

/** Where something is, in its parts. `folder` is undefined for a file that lies directly in the sessions directory. */
export interface Place {
  /** Set in the trash. */
  readonly day: string | undefined;
  readonly folder: string | undefined;
  readonly name: string;
}

export function placePath({ day, folder, name }: Place): string {
  const path = relativePath(folder, name);
  return day === undefined ? path : `${TRASH_DIRECTORY}/${day}/${path}`;
}

/** Where a trashed file was; undefined for a name that the trash does not give. */
export function originalPlace({ folder, name }: Place): Place | undefined {
  const original = nameBeforeTrash(name);
  return original === undefined ? undefined : { day: undefined, folder, name: original };
}

/** The parts of a path below the sessions directory; undefined when it is no Session's, in place or in the trash. */
export function parsePlace(path: string): Place | undefined {
  const parts = path.split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..' || part.includes('\0')))
    return undefined;
  const [first, second] = parts;
  const trashed = first === TRASH_DIRECTORY;
  if (first === OWN_DIRECTORY || (trashed && (second === undefined || !isDay(second)))) return undefined;
  const [folder, name] = trashed ? parts.slice(2) : parts;
  if (folder === undefined || parts.length > (trashed ? 4 : 2)) return undefined;
  const place = {
    day: trashed ? second : undefined,
    folder: name === undefined ? undefined : folder,
    name: name ?? folder,
  };
  const named = trashed ? nameBeforeTrash(place.name) !== undefined : hasSessionName(place.name);
  return named ? place : undefined;
}
