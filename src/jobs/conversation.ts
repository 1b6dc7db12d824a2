/** A job's conversation as a Session that some pi may have open (H3). */
import { dirname } from 'node:path';
import { hasCode } from '../lib/errors.ts';
import { FileError } from '../lib/file-error.ts';
import { readSessionFileId, type SessionTarget } from '../pi/index.ts';
import { projectFolder } from './names.ts';
import { conversationDirectory, type JobsPlace } from './places.ts';
import type { JobRecord } from './record.ts';

/** @throws FileError */
export function conversationTarget({ session }: JobRecord): SessionTarget {
  return { id: idOf(session) ?? `unwritten ${session}`, file: session };
}

/** A file that was never written has no id yet; its path alone says whose it is. */
function idOf(file: string): string | undefined {
  try {
    return readSessionFileId(file);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw new FileError('read the conversation', file, error);
  }
}

/** Whether it lies where conversations of jobs do: one that was put elsewhere is its user's. */
export function isOwnConversation(place: JobsPlace, { session, project }: JobRecord): boolean {
  return dirname(session) === conversationDirectory(place, projectFolder(project));
}
