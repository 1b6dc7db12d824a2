/** The second half of a prune: what was in the trash long enough is deleted, unless some pi still has it open. */
import { hasCode, messageOf } from '../lib/errors.ts';
import { addProblem, count } from './bounded.ts';
import { examine } from './candidates.ts';
import { withFolders } from './folders.ts';
import { DAY_MS, dayExpires, dayOf, originalPlace, placePath } from './layout.ts';
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
import type { Pruning } from './pruning.ts';
import { lastChangeOf } from './session-facts.ts';
import { walkTrash } from './walk.ts';

export async function expireTrash(pruning: Pruning): Promise<void> {
  const { root, options, now, report, turn, log } = pruning;
  const { trashDays } = options.retention;
  const today = dayOf(new Date(now));
  // A day's difference may be two machines' clocks; more was a wrong one.
  const tomorrow = dayOf(new Date(now + DAY_MS));
  const onDay = (day: string): boolean =>
    dayExpires(day, trashDays).getTime() <= now || (log !== undefined && day > tomorrow);
  let batch: Candidate[] = [];
  for (const found of walkTrash(root, { onDay })) {
    if (turn.due()) await turn.give();
    if (found.kind === 'problem') addProblem(report.problems, found.problem);
    else if (found.kind === 'folder') {
      if (found.empty && log) removeEmptyFolders(root, [found]);
    } else if (found.kind === 'pause') {
      // Nothing found, only a moment for others.
    } else if (found.kind === 'temporary') {
      // pi writes none here, so it is nobody's; it stays.
      const reason = 'a temporary file';
      addProblem(report.problems, { file: placePath(found.place), kind: 'foreign', reason });
    } else if (trashDays > 0 && (found.place.day ?? '') > tomorrow) {
      redate(pruning, found, today);
    } else {
      const candidate = examine(found, now);
      if ('kind' in candidate) addProblem(report.problems, { file: placePath(found.place), ...candidate });
      else if (isOpen(pruning.history, candidate)) report.keptOpen++;
      else batch.push(candidate);
      if (batch.length < BATCH) continue;
      const goOn = await deleteAll(pruning, batch);
      batch = [];
      if (!goOn) return;
    }
  }
  await deleteAll(pruning, batch);
}

/** False when going on is of no use: without the log nothing is deleted. */
async function deleteAll(pruning: Pruning, batch: readonly Candidate[]): Promise<boolean> {
  const { log, report } = pruning;
  const deleted = ({ bytes, lastChange }: Candidate): void => count(report.expiredTrash, bytes, lastChange);
  if (log) return deleteFromTrash(pruning, batch, deleted);
  batch.forEach(deleted);
  return true;
}

/**
 * Deletes copies in the trash for good, but those that some pi has open.
 *
 * @returns false when going on is of no use: without the log nothing is deleted
 */
export async function deleteFromTrash(
  pruning: Pruning,
  batch: readonly Candidate[],
  deleted: (copy: Candidate) => void,
): Promise<boolean> {
  const { root, log, options, report } = pruning;
  const days = options.retention.trashDays;
  const intents = batch.map((copy) => announcement(copy, { action: 'deleted', why: 'trash', days }));
  try {
    await log?.record(intents, async () => deleteEach(pruning, batch, deleted), true);
  } catch (error) {
    addProblem(report.problems, { file: '.', kind: 'failed', reason: messageOf(error) });
    return false;
  }
  removeEmptyFolders(
    root,
    batch.map(({ place }) => place),
  );
  return true;
}

function deleteEach(
  pruning: Pruning,
  batch: readonly Candidate[],
  deleted: (copy: Candidate) => void,
): Set<string> {
  const { root, history, report, between } = pruning;
  const failed = new Set<string>();
  withFolders(root, (folders) => {
    for (const copy of batch) {
      try {
        if (isOpen(history, copy)) {
          report.keptOpen++;
          throw new ChangedMeanwhileError(copy);
        }
        deleteFile(folders, copy, between);
        deleted(copy);
      } catch (error) {
        failed.add(copy.file);
        if (error instanceof ChangedMeanwhileError || hasCode(error, 'ENOENT')) continue;
        addProblem(report.problems, { file: copy.file, kind: 'failed', reason: messageOf(error) });
      }
    }
  });
  return failed;
}

/** A day in the future was written by a wrong clock: counted from today, its Sessions get their days in the trash. */
function redate(
  pruning: Pruning,
  found: { place: Candidate['place']; stats: Candidate['stats'] },
  today: string,
): void {
  const { root, report, now } = pruning;
  const { place, stats } = found;
  const original = originalPlace(place);
  if (!original) return;
  const file = placePath(place);
  try {
    const lastChange = new Date(lastChangeOf(stats.mtimeMs, undefined, now));
    const copy = { file, place, stats, id: undefined, cwd: undefined, bytes: stats.size, lastChange };
    withFolders(root, (folders) => moveToTrash(folders, copy, freePlaceInTrash(folders, today, original)));
    removeEmptyFolders(root, [place]);
  } catch (error) {
    addProblem(report.problems, { file, kind: 'failed', reason: messageOf(error) });
  }
}
