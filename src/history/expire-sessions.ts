/** The first half of a prune: Sessions that expired leave their place for the trash. */
import type { Stats } from 'node:fs';
import { systemClock } from '../lib/clock.ts';
import { removeEmptyChild, statChild } from '../lib/directory-entries.ts';
import { hasCode, messageOf } from '../lib/errors.ts';
import { addProblem, addTo, count, isFull } from './bounded.ts';
import { examine } from './candidates.ts';
import { deleteFromTrash } from './expire-trash.ts';
import { type Folders, openFolders, withFolders } from './folders.ts';
import { DAY_MS, dayOf, type Place, placePath } from './layout.ts';
import {
  announcement,
  BATCH,
  type Candidate,
  ChangedMeanwhileError,
  deleteFile,
  freePlaceInTrash,
  isOpen,
  moveToTrash,
  removeEmptyFolders,
} from './move.ts';
import { withoutNamed } from './named.ts';
import type { Pruning } from './pruning.ts';
import { recordOne } from './remove.ts';
import { isOlderThan, lastChangeOf } from './session-facts.ts';
import type { SessionFacts } from './types.ts';
import { type Found, type FoundFile, type FoundFolder, walkSessions } from './walk.ts';

type Expired = Candidate & SessionFacts;
type Leftover = Extract<Found, { kind: 'temporary' }>;

/** A folder that was empty before may be a pi's that is just starting, a temporary file one that is being written. */
const EMPTY_FOR_MS = DAY_MS;

export async function expireSessions(pruning: Pruning): Promise<void> {
  const { root, report, turn, now, options } = pruning;
  const { days } = options.retention;
  // Only a file that its mtime says is expired is looked at any further.
  const isDone = ({ mtimeMs }: Stats): boolean => !isOlderThan(mtimeMs, days, now);
  let batch: Expired[] = [];
  for (const found of walkSessions(root, { isDone })) {
    if (turn.due()) await turn.give();
    if (found.kind === 'problem') addProblem(report.problems, found.problem);
    else if (found.kind === 'folder') removeIfLongEmpty(pruning, found);
    else if (found.kind === 'temporary') await removeLeftover(pruning, found);
    else if (found.kind === 'file') {
      const expired = decide(pruning, found);
      if (expired) batch.push(expired);
      if (batch.length < BATCH) continue;
      const goOn = await expire(pruning, batch);
      batch = [];
      if (!goOn) return;
    }
  }
  await expire(pruning, batch);
}

/** Undefined for what stays. */
function decide(pruning: Pruning, found: FoundFile): Expired | undefined {
  const { now, report, options } = pruning;
  const { days } = options.retention;
  const session = examine(found, now);
  if ('kind' in session) {
    addProblem(report.problems, { file: placePath(found.place), ...session });
    return undefined;
  }
  if (!isOlderThan(session.lastChange.getTime(), days, now)) return undefined;
  if (session.undatable) {
    const reason = 'its end does not tell when it was last changed';
    addProblem(report.problems, { file: session.file, kind: 'undatable', reason });
    return undefined;
  }
  if (options.spare?.(session)) {
    report.spared++;
    return undefined;
  }
  return session;
}

/** False when going on is of no use. */
async function expire(pruning: Pruning, found: readonly Expired[]): Promise<boolean> {
  const { root, log, now, report, options, between } = pruning;
  // A start may have come since the walk began.
  const batch = withoutNamed(root, found, (options.clock ?? systemClock).now().getTime());
  report.spared += found.length - batch.length;
  if (!log) {
    const day = dayOf(new Date(now));
    for (const session of batch) {
      const { folder, name } = session.place;
      countRemoved(pruning, session, { day, folder, name: `${name}.trashed` });
    }
    return true;
  }
  const folders = openFolders(root);
  try {
    const moved = await moveAll(pruning, batch, folders);
    // Without a trash this is only the way out; what somebody has open is passed over here, and counted with the trash.
    return options.retention.trashDays > 0 || (await deleteMoved(pruning, moved));
  } catch (error) {
    // With the trash on nothing can be done on a full disk but to expire the trash, which comes next.
    const helps = hasCode(error, 'ENOSPC', 'EDQUOT') && options.retention.trashDays === 0;
    if (helps) return await deleteWithoutRoom(pruning, batch, folders);
    addProblem(report.problems, { file: '.', kind: 'failed', reason: messageOf(error) });
    return false;
  } finally {
    folders.close();
    between('before the folders');
    removeEmptyFolders(root, emptied(pruning, batch));
  }
}

/** Where something may be empty now: the folders they were in, and those made for them in the trash. */
function emptied({ now }: Pruning, batch: readonly Expired[]): Omit<Place, 'name'>[] {
  const day = dayOf(new Date(now));
  return batch.flatMap(({ place }) => [place, { day, folder: place.folder }]);
}

/** Gives those that are in the trash now. */
async function moveAll(pruning: Pruning, batch: readonly Expired[], folders: Folders): Promise<Candidate[]> {
  const { log, options, between } = pruning;
  const day = dayOf(new Date(pruning.now));
  const taken = new Set<string>();
  const moves: { session: Expired; to: Place }[] = [];
  const inTrash: Candidate[] = [];
  for (const session of batch) {
    attempt(pruning, session, () => {
      const to = freePlaceInTrash(folders, day, session.place, taken);
      taken.add(placePath(to));
      moves.push({ session, to });
    });
  }
  const { days } = options.retention;
  const intents = moves.map(({ session, to }) =>
    announcement(session, { action: 'trashed', why: 'retention', days, to: placePath(to) }),
  );
  between('before the announcement');
  const act = async (): Promise<Set<string>> => {
    between('after the announcement');
    const failed = new Set<string>();
    for (const { session, to } of moves) {
      const moved = attempt(pruning, session, () => {
        moveToTrash(folders, session, to, between);
        countRemoved(pruning, session, to);
        inTrash.push({ ...session, place: to, file: placePath(to) });
      });
      if (!moved) failed.add(session.file);
    }
    return failed;
  };
  await log?.record(intents, act, false);
  return inTrash;
}

function deleteMoved(pruning: Pruning, moved: readonly Candidate[]): Promise<boolean> {
  const closed = moved.filter((copy) => !isOpen(pruning.history, copy));
  return deleteFromTrash(pruning, closed, () => undefined);
}

/**
 * With the trash off, on a disk that has no room for its folders: what nobody has open is deleted where it is, which
 * makes the room that is missing. False when that does not work either.
 */
async function deleteWithoutRoom(
  pruning: Pruning,
  batch: readonly Expired[],
  folders: Folders,
): Promise<boolean> {
  const { log, history, options, report, between } = pruning;
  const { days } = options.retention;
  const intents = batch.map((session) =>
    announcement(session, { action: 'deleted', why: 'retention', days }),
  );
  const act = async (): Promise<Set<string>> => {
    const failed = new Set<string>();
    for (const session of batch) {
      const deleted = attempt(pruning, session, () => {
        if (isOpen(history, session)) throw new ChangedMeanwhileError(session);
        deleteFile(folders, session, between);
        countRemoved(pruning, session, undefined);
      });
      if (!deleted) failed.add(session.file);
    }
    return failed;
  };
  try {
    await log?.record(intents, act, true);
    return true;
  } catch (error) {
    addProblem(report.problems, { file: '.', kind: 'failed', reason: messageOf(error) });
    return false;
  }
}

/** False when `work` failed, which is reported; a Session that changed meanwhile is none of retention's business. */
function attempt(pruning: Pruning, { file }: Expired, work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOSPC', 'EDQUOT')) throw error;
    if (!(error instanceof ChangedMeanwhileError) && !hasCode(error, 'ENOENT'))
      addProblem(pruning.report.problems, { file, kind: 'failed', reason: messageOf(error) });
    return false;
  }
}

function countRemoved({ history, report, options }: Pruning, session: Expired, to: Place | undefined): void {
  const { file, id, cwd, bytes, lastChange } = session;
  count(report.removed, bytes, lastChange);
  if (isFull(report.sessions)) report.sessions.omitted++;
  else {
    const open = isOpen(history, session);
    const trashed = to && (options.retention.trashDays > 0 || open) ? placePath(to) : undefined;
    addTo(report.sessions, { file, id, cwd, bytes, lastChange, open, trashed });
  }
}

function removeIfLongEmpty({ root, log, now }: Pruning, { folder, empty }: FoundFolder): void {
  if (!log || !empty || folder === undefined) return;
  const changed = statChild(root, folder)?.mtimeMs ?? now;
  if (now - changed <= EMPTY_FOR_MS) return;
  try {
    removeEmptyChild(root, folder);
  } catch (error) {
    if (!hasCode(error, 'EACCES', 'EPERM', 'EROFS')) throw error;
  }
}

/** What a killed writer left beside a Session; a living one needs it for moments. */
async function removeLeftover({ root, log, now, report }: Pruning, found: Leftover): Promise<void> {
  const { place, stats } = found;
  // Its mtime may be set already to what the Session's will be.
  if (!log || now - Math.max(stats.mtimeMs, stats.ctimeMs) <= EMPTY_FOR_MS) return;
  const lastChange = new Date(lastChangeOf(stats.mtimeMs, undefined, now));
  const file = {
    file: placePath(place),
    place,
    stats,
    id: undefined,
    cwd: undefined,
    bytes: stats.size,
    lastChange,
  };
  try {
    const intent = announcement(file, { action: 'deleted', why: 'leftover' });
    await recordOne(log, intent, true, () => withFolders(root, (folders) => deleteFile(folders, file)));
  } catch (error) {
    addProblem(report.problems, { file: file.file, kind: 'failed', reason: messageOf(error) });
  }
}
