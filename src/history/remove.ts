/** Taking one Session out of the history because somebody asked for it: into the trash, or for good. */
import { systemClock } from '../lib/clock.ts';
import type { DirectoryHandle } from '../lib/directory-handle.ts';
import { OperationError } from '../lib/errors.ts';
import { openDeletionLog } from './deletion-log.ts';
import { withFolders } from './folders.ts';
import { dayOf, placePath } from './layout.ts';
import {
  announcement,
  deleteFile,
  freePlaceInTrash,
  isOpen,
  moveToTrash,
  removeEmptyFolders,
} from './move.ts';
import { changingHistory } from './own-directory.ts';
import { type Selected, select } from './select.ts';
import type { History, HistoryNeeds, RemovedSession } from './types.ts';

export type RemoveOptions = { now?: boolean; force?: boolean } & HistoryNeeds;

/** Some pi has it open. */
export class SessionOpenError extends OperationError {
  constructor(file: string) {
    super(`the Session ${file} is open`, { hint: 'end its pi first, or use --force' });
  }
}

/**
 * Moves a Session to the trash, where it stays as long as an expired one; deletes it with `now`, or when it is in the
 * trash already. Open ones only with `force`: in the trash such a one stays until its pi has ended.
 *
 * @throws UsageError (none, or several), SessionOpenError, HistoryBusyError, FileError
 */
export async function removeSession(
  history: History,
  selector: string,
  options: RemoveOptions,
): Promise<RemovedSession> {
  return changingHistory(history, options, async ({ root, own }) => {
    const { clock = systemClock, random } = options;
    const session = await select(root, selector, 'either', options);
    const open = isOpen(history, session);
    if (open && !options.force) throw new SessionOpenError(session.file);
    const log = openDeletionLog(own, { now: () => clock.now(), random });
    const { file, id, cwd, bytes, lastChange } = session;
    const removed = { file, id, cwd, bytes, lastChange, open };
    if (options.now || session.place.day !== undefined) {
      const intent = announcement(session, { action: 'deleted', why: 'asked' });
      await recordOne(log, intent, true, () =>
        withFolders(root, (folders) => deleteFile(folders, session, options.between)),
      );
      removeEmptyFolders(root, [session.place]);
      return { ...removed, trashed: undefined };
    }
    const trashed = await trash(root, session, log, dayOf(clock.now()), options);
    return { ...removed, trashed };
  });
}

async function trash(
  root: DirectoryHandle,
  session: Selected,
  log: ReturnType<typeof openDeletionLog>,
  day: string,
  { between }: HistoryNeeds,
): Promise<string> {
  const to = withFolders(root, (folders) => freePlaceInTrash(folders, day, session.place));
  const intent = announcement(session, { action: 'trashed', why: 'asked', to: placePath(to) });
  await recordOne(log, intent, false, () =>
    withFolders(root, (folders) => moveToTrash(folders, session, to, between)),
  );
  removeEmptyFolders(root, [session.place]);
  return placePath(to);
}

/** Records one change, and passes its error on when the log has it. */
export async function recordOne(
  log: ReturnType<typeof openDeletionLog>,
  intent: ReturnType<typeof announcement>,
  frees: boolean,
  act: () => void,
): Promise<void> {
  let failure: unknown;
  await log.record(
    [intent],
    async () => {
      try {
        act();
        return new Set();
      } catch (error) {
        failure = error;
        return new Set([intent.file]);
      }
    },
    frees,
  );
  if (failure !== undefined) throw failure;
}
