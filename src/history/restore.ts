/** Out of the trash to where it was. */
import { closeSync, futimesSync } from 'node:fs';
import { systemClock } from '../lib/clock.ts';
import { statChild } from '../lib/directory-entries.ts';
import { type DirectoryHandle, openChildFile } from '../lib/directory-handle.ts';
import { hasCode, OperationError } from '../lib/errors.ts';
import { safeForTerminal } from '../lib/redact.ts';
import { openDeletionLog } from './deletion-log.ts';
import { withFolders } from './folders.ts';
import { originalPlace, type Place, placePath } from './layout.ts';
import { announcement, isSameFile, moveWithoutReplacing, removeEmptyFolders } from './move.ts';
import { changingHistory } from './own-directory.ts';
import { recordOne } from './remove.ts';
import { type Selected, select } from './select.ts';
import type { History, HistoryNeeds } from './types.ts';

/**
 * Brings a trashed Session back, its age starting anew: the mtime becomes now, before it is back, so that no prune
 * takes it again. Of several copies of one Session the newest is taken. Never replaces a file.
 *
 * @throws UsageError (none, or several), OperationError (a file stands there), HistoryBusyError, FileError
 */
export async function restoreSession(
  history: History,
  selector: string,
  needs: HistoryNeeds = {},
): Promise<{ from: string; file: string; id: string }> {
  return changingHistory(history, needs, async ({ root, own }) => {
    const { clock = systemClock, random, between = () => undefined } = needs;
    const session = await select(root, selector, 'trash', needs);
    const to = originalPlace(session.place);
    if (!to) throw new OperationError(`${safeForTerminal(session.file)} has no place to go back to`);
    const file = placePath(to);
    const restore = (): void =>
      withFolders(root, (folders) => {
        // What stays in the trash keeps its time.
        requireFree(folders.made(to), to, session);
        const trash = folders.of(session.place);
        touch(trash, session.place.name, clock.now());
        between('after the touch');
        moveWithoutReplacing(trash, session.place.name, folders.made(to), to.name);
      });
    const log = openDeletionLog(own, { now: () => clock.now(), random });
    const intent = announcement(session, { action: 'restored', why: 'asked', to: file });
    try {
      await recordOne(log, intent, false, restore);
    } catch (error) {
      throw hasCode(error, 'EEXIST') ? taken(file, error) : error;
    }
    removeEmptyFolders(root, [session.place]);
    return { from: session.file, file, id: session.id };
  });
}

function requireFree(home: DirectoryHandle, to: Place, { stats }: Selected): void {
  const there = statChild(home, to.name);
  if (there !== undefined && !isSameFile(there, stats)) throw taken(placePath(to));
}

function taken(file: string, cause?: unknown): OperationError {
  return new OperationError(
    safeForTerminal(`${file} is there already; the trashed copy stays in the trash`),
    { hint: 'move one of the two away first', cause },
  );
}

function touch(trash: Parameters<typeof openChildFile>[0], name: string, at: Date): void {
  const { fd } = openChildFile(trash, name);
  try {
    futimesSync(fd, at, at);
  } finally {
    closeSync(fd);
  }
}
