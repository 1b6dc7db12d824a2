/** What `sessions list` says of the history from before domains had their own (S12, S13). */
import type { LegacyContent, LegacyTally } from '../../../history/index.ts';
import { EXIT, messageOf } from '../../../lib/errors.ts';
import { safeForTerminal } from '../../../lib/redact.ts';
import type { HistoryLine } from '../../../wire/index.ts';
import { oldHistory } from '../../sandbox/old-history-store.ts';
import { warn } from '../../ui/report.ts';
import { ago, size } from './lines.ts';
import type { SessionsScene } from './scene.ts';

export interface Seen {
  /** Undefined where there is none, or it could not be looked at. */
  readonly content: LegacyContent | undefined;
  readonly exitCode: number;
}

/**
 * Looks at what is left of it. That takes a container of its own, so it is not done where each domain remembers that
 * nothing was left when its part was sorted: in every installation that is not older than domains' own history.
 */
export async function leftOfOldHistory(
  { engine, config, image }: SessionsScene,
  rows: readonly { summary: HistoryLine<'summary'> | undefined; history: { sessions: string | undefined } }[],
): Promise<Seen> {
  const sorted = rows.filter(({ history }) => history.sessions !== undefined);
  if (sorted.length > 0 && sorted.every(({ summary }) => summary?.oldHistoryLeft === 0)) {
    return { content: undefined, exitCode: 0 };
  }
  try {
    return { content: await oldHistory({ engine, config, image: image() }), exitCode: 0 };
  } catch (error) {
    warn(messageOf(error));
    return { content: undefined, exitCode: EXIT.failed };
  }
}

/** Cells as those of a domain: one row for what is nobody's, one for each domain whose next start takes its part over. */
export function oldHistoryRows({ content }: Seen): string[][] {
  if (content === undefined) return [];
  const { unowned, damaged, waiting } = content;
  const nobodys: LegacyTally = {
    count: unowned.count + damaged.count,
    bytes: unowned.bytes + damaged.bytes,
    oldest: earliest(unowned.oldest, damaged.oldest),
  };
  return [
    ...Object.entries(waiting).map(([domain, tally]) => cells(safeForTerminal(domain), tally, 0)),
    cells('none', nobodys, damaged.count),
  ].filter(([, count]) => count !== '0');
}

function cells(domain: string, tally: LegacyTally, damaged: number): string[] {
  const oldest = ago(tally.oldest === undefined ? undefined : new Date(tally.oldest).toISOString());
  const broken = damaged === 0 ? '-' : String(damaged);
  return [`${domain} (old history)`, String(tally.count), size(tally), oldest, '-', '-', '-', broken, '-'];
}

function earliest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

/** The field of the JSON, absent where nothing is left. */
export function asFacts({ content }: Seen): { oldHistory?: object } {
  if (content === undefined) return {};
  const { unowned, damaged, waiting } = content;
  const domains = Object.entries(waiting).map(([domain, tally]) => [domain, dated(tally)] as const);
  if (unowned.count + damaged.count + domains.length === 0) return {};
  return {
    oldHistory: { unowned: dated(unowned), damaged: dated(damaged), waiting: Object.fromEntries(domains) },
  };
}

function dated({ count, bytes, oldest }: LegacyTally): object {
  return { count, bytes, ...(oldest === undefined ? {} : { oldest: new Date(oldest).toISOString() }) };
}
