/** How numbers, times and other people's words of a history are printed. */
import { safeForTerminal } from '../../../lib/redact.ts';
import { bytes, duration } from '../../../lib/table.ts';
import type { HistoryAnswer, HistoryLine } from '../../../wire/index.ts';
import { info, warn } from '../../ui/report.ts';

/** Of the thousands that there may be. */
const PROBLEMS_SHOWN = 5;
const LONGEST_NAME = 40;
const LONGEST_LABEL = 50;

export function only<Type extends HistoryAnswer['type']>(
  lines: readonly HistoryAnswer[],
  type: Type,
): HistoryLine<Type>[] {
  return lines.filter((line): line is HistoryLine<Type> => line.type === type);
}

export function ago(date: string | undefined, now = Date.now()): string {
  return date === undefined ? '-' : `${duration(now - Date.parse(date))} ago`;
}

export function size(tally: { count: number; bytes: number }): string {
  return tally.count === 0 ? '-' : bytes(tally.bytes);
}

export function days(count: number): string {
  return `${count} day${count === 1 ? '' : 's'}`;
}

/** `1 Session`, `3 Sessions`. */
export function sessions(count: number): string {
  return `${count} Session${count === 1 ? '' : 's'}`;
}

/** A name that somebody gave, in a cell of a table. */
export function named(text: string | undefined): string {
  if (text === undefined || text.trim() === '') return '-';
  const safe = safeForTerminal(text);
  return safe.length > LONGEST_NAME ? `${safe.slice(0, LONGEST_NAME - 1)}…` : safe;
}

/** What nobody would miss in a list: it is no Session, and stays. */
const NO_SESSION = new Set(['foreign', 'no-session', 'link', 'special']);

/** What could not be read, dated or removed by name; of what is no Session only how much there is (S11). */
export function tellProblems(domain: string, { items, omitted }: HistoryLine<'pruned'>['problems']): void {
  const serious = items.filter(({ kind }) => !NO_SESSION.has(kind));
  for (const { file, reason } of serious.slice(0, PROBLEMS_SHOWN)) warn(`${domain}: ${file}: ${reason}`);
  // What is omitted is as what is kept at last: what failed is kept first.
  const crowded = serious.length === items.length ? omitted : 0;
  const hidden = Math.max(0, serious.length - PROBLEMS_SHOWN) + crowded;
  if (hidden > 0) warn(`${domain}: ${hidden} more of these; sessions list --json has them`);
  const others = items.length - serious.length + omitted - crowded;
  if (others > 0) {
    const are =
      others === 1
        ? 'file or link is no whole Session and stays'
        : 'files or links are no whole Sessions and stay';
    info(`${domain}: ${others} ${are} (--json names them)`);
  }
}

/** An id, or what else tells a Session: the end of its path, which alone differs. */
export function labelOf({ id, file }: { id?: string | undefined; file: string }): string {
  const text = safeForTerminal(id ?? file);
  return text.length > LONGEST_LABEL ? `…${text.slice(1 - LONGEST_LABEL)}` : text;
}
