/** The first deletion on a domain is told once, with how to get it back (S11); and the words of a start's prune. */
import { closeSync, constants, writeSync } from 'node:fs';
import { systemClock } from '../lib/clock.ts';
import { openChildFile } from '../lib/directory-handle.ts';
import { hasCode } from '../lib/errors.ts';
import { NOTICE_FILE } from './layout.ts';
import { changingHistory } from './own-directory.ts';
import { type Notice, RECORD_VERSION } from './records.ts';
import type { History, HistoryNeeds, PruneReport } from './types.ts';

/** The notice was shown: it is not due again. Called after it was printed: better told twice than never. */
export async function acknowledgeFirstDeletion(history: History, needs: HistoryNeeds = {}): Promise<void> {
  const { clock = systemClock } = needs;
  await changingHistory(history, needs, async ({ own }) => {
    try {
      const { fd } = openChildFile(
        own,
        NOTICE_FILE,
        constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL,
      );
      const notice: Notice = { version: RECORD_VERSION, shownAt: clock.now().toISOString() };
      try {
        writeSync(fd, `${JSON.stringify(notice)}\n`);
      } finally {
        closeSync(fd);
      }
    } catch (error) {
      // That it is there is what counts, whoever made it and however much of it a full disk took.
      if (!hasCode(error, 'EEXIST', 'ENOSPC', 'EDQUOT')) throw error;
    }
  });
}

/**
 * What a start prints on stderr after a prune, line by line; none when nothing was removed. The first line is the
 * contract's, word for word.
 */
export function pruneMessages(report: PruneReport, { domain }: { domain: string }): string[] {
  const { total, retention } = report;
  const lines =
    total > 0 ? [`pi-sandbox: removed ${total} session(s) older than ${retention.days} days`] : [];
  return report.firstDeletion ? [...lines, ...firstDeletion(report, domain)] : lines;
}

function firstDeletion({ removed, others, expiredTrash, retention }: PruneReport, domain: string): string[] {
  const bytes = others.reduce((sum, other) => sum + other.bytes, removed.bytes + expiredTrash.bytes);
  const dates = [removed.oldest, expiredTrash.oldest].filter((date) => date !== undefined);
  const oldest = dates.sort((a, b) => a.getTime() - b.getTime())[0];
  const size = `${(bytes / 1_000_000).toFixed(1)} MB`;
  const said = [
    `pi-sandbox: this is the first time that history of the domain ${domain} was removed: ${size}` +
      (oldest ? `, the oldest last changed on ${oldest.toISOString().slice(0, 10)}` : ''),
  ];
  const { trashDays, days } = retention;
  if (removed.count > 0 && trashDays > 0)
    said.push(
      `pi-sandbox: for ${trashDays} days they stay in the trash; \`pi-sandbox sessions log ${domain}\` lists them, \`pi-sandbox sessions restore <id>\` brings one back`,
    );
  else if (removed.count > 0)
    said.push(
      'pi-sandbox: they are gone, since SESSIONS_TRASH_DAYS is 0; give it days to keep them in a trash',
    );
  for (const { what, count } of others) {
    if (count > 0) said.push(`pi-sandbox: ${count} of them are ${what}, which go for good`);
  }
  said.push(
    `pi-sandbox: SESSIONS_RETENTION_DAYS (${days}) says for how long Sessions are kept, 0 keeps everything`,
  );
  return said;
}
