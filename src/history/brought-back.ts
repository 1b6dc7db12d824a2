/** What a pi brought back from the trash by itself, before it went on with it (S11), is in the log like a restore. */
import { realpathSync } from 'node:fs';
import { relative } from 'node:path';
import { systemClock } from '../lib/clock.ts';
import { openDeletionLog } from './deletion-log.ts';
import { changingHistory } from './own-directory.ts';
import type { HistoryNeeds } from './types.ts';

/** It is back already, under the lock of its Session. */
export interface BroughtBackSession {
  /** The sessions directory, or a link to it; the other paths are in it, as this one is given. */
  readonly sessions: string;
  /** Where in the trash it was. */
  readonly from: string;
  readonly file: string;
  readonly id: string;
  /** Before anything was appended. */
  readonly bytes: number;
  readonly lastChange: Date;
}

/** @throws HistoryBusyError, FileError */
export async function logBroughtBack(
  { sessions, from, file, id, bytes, lastChange }: BroughtBackSession,
  needs: HistoryNeeds = {},
): Promise<void> {
  // In a sandbox pi reaches it by a link in its agent directory.
  const history = { sessions: realpathSync(sessions), locks: '' };
  // Under the history's lock: the lines of a batch stand together.
  await changingHistory(history, needs, async ({ own }) => {
    const { clock = systemClock, random } = needs;
    const log = openDeletionLog(own, { now: () => clock.now(), random });
    const [was, is] = [relative(sessions, from), relative(sessions, file)];
    const facts = { bytes, lastChange: lastChange.toISOString(), id, to: is } as const;
    await log.record(
      [{ action: 'restored', why: 'used', file: was, ...facts }],
      async () => new Set(),
      false,
    );
  });
}
