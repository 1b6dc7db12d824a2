/** `pi-sandbox sessions list` (S13). */

import { jsonText } from '../../../lib/json-text.ts';
import { safeForTerminal } from '../../../lib/redact.ts';
import { bytes, duration, table } from '../../../lib/table.ts';
import type { HistoryLine } from '../../../wire/index.ts';
import type { DomainHistory } from '../../sandbox/history-domains.ts';
import { askHistories, type DomainAnswer } from '../../sandbox/history-program.ts';
import { ago, days, labelOf, named, only, size, tellProblems } from './lines.ts';
import { asFacts, leftOfOldHistory, oldHistoryRows, type Seen } from './old-history.ts';
import { exitCodeOf, oneDomain, type SessionsOptions, withHistories } from './scene.ts';

export interface ListOptions extends SessionsOptions {
  sessions?: boolean;
  trash?: boolean;
  json?: boolean;
}

/** Where nothing says how long Sessions stay, none is called expired. */
const KEEP = { days: 0, trashDays: 0 };
const EMPTY = { count: 0, bytes: 0 };

interface Row {
  history: DomainHistory;
  /** Undefined for a domain that could not be read. */
  summary: HistoryLine<'summary'> | undefined;
  sessions: HistoryLine<'session'>[];
  trash: HistoryLine<'trashed'>[];
}

/** One row a domain, or with `--sessions` or `--trash` one for each Session in place or in the trash. */
export function sessionsList(word: string | undefined, options: ListOptions): Promise<number> {
  return withHistories(oneDomain(word, options), async (scene) => {
    const { sessions = false, trash = false } = options;
    const answers = await askHistories(scene, scene.histories, ({ retention = KEEP }) => ({
      verb: 'list',
      retention,
      sessions,
      trash,
    }));
    const rows = scene.histories.map((history) => rowOf(history, answers));
    const ofDomains = word === undefined && options.domain === undefined && !sessions && !trash;
    const old = ofDomains ? await leftOfOldHistory(scene, rows) : { content: undefined, exitCode: 0 };
    process.stdout.write(options.json === true ? asJson(rows, old, options) : asTable(rows, old, options));
    if (options.json !== true) {
      for (const { history, summary } of rows) {
        if (summary !== undefined) tellProblems(history.domain, summary.problems);
      }
    }
    return exitCodeOf(answers) || old.exitCode;
  });
}

function rowOf(history: DomainHistory, answers: readonly DomainAnswer[]): Row {
  const lines = answers.find((answer) => answer.history === history)?.lines;
  const newestFirst = (a: { lastChange: string }, b: { lastChange: string }): number =>
    b.lastChange.localeCompare(a.lastChange);
  return {
    history,
    summary: history.sessions === undefined ? nothing() : only(lines ?? [], 'summary')[0],
    sessions: only(lines ?? [], 'session').sort(newestFirst),
    trash: only(lines ?? [], 'trashed').sort(newestFirst),
  };
}

/** A domain that has no volume yet has no Sessions; it is not made to find that out. */
function nothing(): HistoryLine<'summary'> {
  const problems = { items: [], omitted: 0 };
  return { type: 'summary', ...EMPTY, expired: 0, damaged: 0, open: 0, trash: EMPTY, problems };
}

function asTable(rows: readonly Row[], old: Seen, { sessions, trash }: ListOptions): string {
  if (sessions !== true && trash !== true)
    return table(DOMAIN_HEADINGS, [...rows.map(domainCells), ...oldHistoryRows(old)]);
  const parts: string[] = [];
  if (sessions === true) {
    const lines = rows.flatMap((row) => row.sessions.map((session) => sessionCells(row, session)));
    parts.push(table(['session', 'domain', 'name', 'last change', 'size', 'state', 'directory'], lines));
  }
  if (trash === true) {
    const lines = rows.flatMap((row) => row.trash.map((session) => trashCells(row, session)));
    parts.push(table(['in the trash', 'domain', 'last change', 'size', 'goes in', 'directory'], lines));
  }
  return parts.join('\n');
}

const DOMAIN_HEADINGS = [
  'domain',
  'sessions',
  'size',
  'oldest',
  'retention',
  'expired',
  'open',
  'damaged',
  'trash',
];

function domainCells({ history, summary }: Row): string[] {
  const { domain, retention } = history;
  const name = retention === undefined ? `${domain} (not configured)` : domain;
  const kept = retention === undefined ? '-' : retention.days === 0 ? 'for ever' : days(retention.days);
  if (summary === undefined) return [name, '?', '?', '?', kept, '?', '?', '?', '?'];
  const { count, oldest, expired, open, damaged, trash } = summary;
  const trashed = trash.count === 0 ? '-' : `${trash.count} (${bytes(trash.bytes)})`;
  const numbers = [expired, open, damaged].map((number) => (number === 0 ? '-' : String(number)));
  return [name, String(count), size(summary), ago(oldest), kept, ...numbers, trashed];
}

function sessionCells({ history }: Row, session: HistoryLine<'session'>): string[] {
  const { id, file, name, cwd, lastChange, open, expired, damaged } = session;
  const states = [
    ...(open ? ['open'] : []),
    ...(expired ? ['expired'] : []),
    ...(damaged === undefined ? [] : [`damaged: ${safeForTerminal(damaged)}`]),
  ];
  return [
    labelOf({ id, file }),
    history.domain,
    named(name),
    ago(lastChange),
    bytes(session.bytes),
    states.join(', ') || '-',
    safeForTerminal(cwd ?? '-'),
  ];
}

function trashCells({ history }: Row, session: HistoryLine<'trashed'>): string[] {
  const { id, original, cwd, lastChange, expires, open } = session;
  const left = expires === undefined ? 0 : Date.parse(expires) - Date.now();
  const goes = open ? 'stays while it is open' : left <= 0 ? 'the next start' : duration(left);
  return [
    labelOf({ id, file: original }),
    history.domain,
    ago(lastChange),
    bytes(session.bytes),
    goes,
    safeForTerminal(cwd ?? '-'),
  ];
}

/** Schema in docs/history.md. */
function asJson(rows: readonly Row[], old: Seen, options: ListOptions): string {
  const domains = rows.map(({ history, summary, sessions, trash }) => {
    const { domain, retention, sessions: volume } = history;
    return {
      domain,
      configured: retention !== undefined,
      volume: volume ?? null,
      retentionDays: retention?.days ?? null,
      trashDays: retention?.trashDays ?? null,
      history: summary === undefined ? null : historyFacts(summary),
      ...(options.sessions === true ? { sessions: sessions.map(untyped) } : {}),
      ...(options.trash === true ? { trash: trash.map(untyped) } : {}),
    };
  });
  return `${jsonText({ version: 1, domains, ...asFacts(old) }, 2)}\n`;
}

/** What is left of old history is no domain's, and told once. */
function historyFacts(summary: HistoryLine<'summary'>): object {
  const { oldHistoryLeft: _, ...facts } = untyped(summary);
  return facts;
}

/** Without the word by which the wire tells its lines apart. */
export function untyped<T extends { type: string }>({ type: _, ...facts }: T): Omit<T, 'type'> {
  return facts;
}
