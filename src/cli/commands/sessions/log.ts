/** `pi-sandbox sessions log` (S13). */

import { jsonText } from '../../../lib/json-text.ts';
import { safeForTerminal } from '../../../lib/redact.ts';
import { bytes, table } from '../../../lib/table.ts';
import type { HistoryLine } from '../../../wire/index.ts';
import { askHistories } from '../../sandbox/history-program.ts';
import { warn } from '../../ui/report.ts';
import { days, labelOf, only } from './lines.ts';
import { untyped } from './list.ts';
import { exitCodeOf, oneDomain, type SessionsOptions, withHistories } from './scene.ts';

export interface LogOptions extends SessionsOptions {
  /** Entries. */
  tail: number;
  json?: boolean;
}

/** What was ever deleted or brought back, when, why and how large: the newest last. */
export function sessionsLog(word: string | undefined, options: LogOptions): Promise<number> {
  return withHistories(oneDomain(word, options), async (scene) => {
    const answers = await askHistories(scene, scene.histories, () => ({ verb: 'log', last: options.tail }));
    const entries = answers
      .flatMap(({ history, lines }) =>
        only(lines, 'deletion').map((entry) => ({ domain: history.domain, ...untyped(entry) })),
      )
      .sort((a, b) => a.at.localeCompare(b.at))
      .slice(-options.tail);
    if (options.json === true) {
      process.stdout.write(`${jsonText({ version: 1, deletions: entries }, 2)}\n`);
    } else {
      const headings = ['when', 'domain', 'session', 'what', 'why', 'size'];
      process.stdout.write(table(headings, entries.map(cells)));
    }
    for (const { history, lines } of answers) {
      const skipped = only(lines, 'skipped').reduce((sum, line) => sum + line.lines, 0);
      if (skipped > 0) warn(`${history.domain}: ${skipped} damaged lines of the log were skipped`);
    }
    return exitCodeOf(answers);
  });
}

type Entry = Omit<HistoryLine<'deletion'>, 'type'> & { domain: string };

function cells({ at, domain, id, file, action, why, days: age, bytes: size, outcome }: Entry): string[] {
  const reason = age === undefined ? why : `${why}, ${days(age)}`;
  const what = outcome === 'done' ? action : `${action} (${outcome})`;
  const words = [what, reason].map((text) => safeForTerminal(text));
  return [at, domain, labelOf({ id, file }), ...words, bytes(size)];
}
