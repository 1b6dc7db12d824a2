/** `sessions clear`: a domain's whole history at once, trash included, because somebody asked for exactly that. */
import { systemClock } from '../lib/clock.ts';
import type { DirectoryHandle } from '../lib/directory-handle.ts';
import { hasCode, messageOf } from '../lib/errors.ts';
import { turns } from '../lib/turns.ts';
import { addProblem, boundedList, count, emptyTally } from './bounded.ts';
import { examine } from './candidates.ts';
import { type DeletionLog, openDeletionLog } from './deletion-log.ts';
import { withFolders } from './folders.ts';
import { placePath } from './layout.ts';
import { announcement, BATCH, type Candidate, deleteFile, isOpen, removeEmptyFolders } from './move.ts';
import { changingHistory } from './own-directory.ts';
import { SessionOpenError } from './remove.ts';
import { lastChangeOf } from './session-facts.ts';
import { removeLeftovers } from './transfer/stage.ts';
import type { ClearReport, History, HistoryNeeds } from './types.ts';
import { type Found, type FoundFile, walkSessions, walkTrash } from './walk.ts';

export type ClearOptions = { force?: boolean } & HistoryNeeds;

/**
 * Deletes every file that is named like a Session, damaged ones too, and the trash. What is not named so stays and is
 * reported; the log stays. While some pi has one of them open, nothing is deleted without `force`.
 *
 * @throws SessionOpenError, HistoryBusyError, FileError
 */
export async function clearHistory(history: History, options: ClearOptions): Promise<ClearReport> {
  return changingHistory(history, options, async ({ root, own }) => {
    const { clock = systemClock, random } = options;
    const now = clock.now().getTime();
    if (!options.force) await refuseOpen(history, root, now, options);
    const log = openDeletionLog(own, { now: () => clock.now(), random });
    const report: ClearReport = { sessions: emptyTally(), trash: emptyTally(), problems: boundedList() };
    const clearing: Clearing = { history, options, root, log, now, report };
    await deleteFound(clearing, walkSessions(root));
    await deleteFound(clearing, walkTrash(root));
    // Whole copies may be among it.
    removeLeftovers(root);
    return report;
  });
}

async function refuseOpen(
  history: History,
  root: DirectoryHandle,
  now: number,
  { signal }: ClearOptions,
): Promise<void> {
  const turn = turns(signal);
  for (const walk of [walkSessions(root), walkTrash(root)]) {
    for (const found of walk) {
      if (turn.due()) await turn.give();
      if (found.kind !== 'file') continue;
      const candidate = candidateOf(found, now);
      if (isOpen(history, candidate)) throw new SessionOpenError(candidate.file);
    }
  }
}

interface Clearing {
  readonly history: History;
  readonly options: ClearOptions;
  readonly root: DirectoryHandle;
  readonly log: DeletionLog;
  readonly now: number;
  readonly report: ClearReport;
}

async function deleteFound(clearing: Clearing, walk: Iterable<Found>): Promise<void> {
  const { options, now, report, root } = clearing;
  const turn = turns(options.signal);
  let batch: Candidate[] = [];
  for (const found of walk) {
    if (turn.due()) await turn.give();
    if (found.kind === 'problem') addProblem(report.problems, found.problem);
    else if (found.kind === 'file') batch.push(candidateOf(found, now));
    else if (found.kind === 'temporary') batch.push(withoutSession(found, now));
    else if (found.kind === 'folder' && found.empty && found.day !== undefined)
      removeEmptyFolders(root, [found]);
    if (batch.length < BATCH) continue;
    await deleteBatch(clearing, batch);
    batch = [];
  }
  await deleteBatch(clearing, batch);
}

function candidateOf(found: FoundFile, now: number): Candidate {
  const session = examine(found, now);
  return 'kind' in session ? withoutSession(found, now) : session;
}

function withoutSession({ place, stats }: Pick<FoundFile, 'place' | 'stats'>, now: number): Candidate {
  const lastChange = new Date(lastChangeOf(stats.mtimeMs, undefined, now));
  const facts = { id: undefined, cwd: undefined, bytes: stats.size, lastChange };
  return { ...facts, file: placePath(place), place, stats };
}

async function deleteBatch(clearing: Clearing, batch: readonly Candidate[]): Promise<void> {
  const { root, log, report, options } = clearing;
  const act = async (): Promise<Set<string>> => {
    const failed = new Set<string>();
    withFolders(root, (folders) => {
      for (const file of batch) {
        try {
          deleteFile(folders, file, options.between);
          count(file.place.day === undefined ? report.sessions : report.trash, file.bytes, file.lastChange);
        } catch (error) {
          failed.add(file.file);
          if (!hasCode(error, 'ENOENT'))
            addProblem(report.problems, { file: file.file, kind: 'failed', reason: messageOf(error) });
        }
      }
    });
    return failed;
  };
  const intents = batch.map((file) => announcement(file, { action: 'deleted', why: 'cleared' }));
  await log.record(intents, act, true);
  removeEmptyFolders(
    root,
    batch.map(({ place }) => place),
  );
}
