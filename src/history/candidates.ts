/** What a file that was found is, as far as retention needs to know. Opens it. */
import { messageOf } from '../lib/errors.ts';
import { placePath } from './layout.ts';
import type { Candidate } from './move.ts';
import { lastChangeOf, type ReadSession, readSession } from './session-facts.ts';
import type { HistoryProblem, SessionFacts } from './types.ts';
import type { FoundFile } from './walk.ts';

/** A Session, or why it is kept and reported instead. */
export function examine(
  { at, place, stats: seen }: FoundFile,
  now: number,
): (Candidate & SessionFacts & { undatable: boolean }) | { kind: HistoryProblem['kind']; reason: string } {
  let read: ReadSession;
  try {
    read = readSession(at, place.name, seen);
  } catch (error) {
    return { kind: 'unreadable', reason: messageOf(error) };
  }
  const { header, stats, lastEntry, undatable } = read;
  if (header === undefined) {
    const reason = stats.size === 0 ? 'an empty file' : 'it has no header of a Session';
    return { kind: 'no-session', reason };
  }
  return {
    file: placePath(place),
    place,
    stats,
    id: header.id,
    cwd: header.cwd,
    bytes: stats.size,
    lastChange: new Date(lastChangeOf(stats.mtimeMs, lastEntry, now)),
    undatable,
  };
}
