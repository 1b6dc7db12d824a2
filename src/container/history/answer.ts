/** From a request about a domain's history to the lines of its answer. */
import type { Readable } from 'node:stream';
import {
  acknowledgeFirstDeletion,
  clearHistory,
  exportHistory,
  exportSession,
  findSession,
  type History,
  type HistoryProblem,
  listSessions,
  listTrash,
  oldHistoryLeft,
  pruneHistory,
  readDeletions,
  removeSession,
  restoreSession,
  showSession,
  summarizeHistory,
} from '../../history/index.ts';
import { HISTORY_LIMITS, type HistoryRequest } from '../../wire/index.ts';

type ExportRequest = Extract<HistoryRequest, { verb: 'export' | 'export-all' }>;

/** The bytes of a Session as it lies there, or of a tar of all of them. */
export async function exported(history: History, request: ExportRequest): Promise<Readable> {
  if (request.verb === 'export-all') return exportHistory(history, { trash: request.trash });
  return (await exportSession(history, request.selector)).content;
}

/** Each object has the form of one of the wire's answers. */
export async function* answer(
  history: History,
  request: Exclude<HistoryRequest, ExportRequest>,
): AsyncGenerator<object> {
  switch (request.verb) {
    case 'list':
      return yield* listed(history, request);
    case 'prune':
      return yield* pruned(history, request);
    case 'clear':
      return yield line('cleared', withProblems(await clearHistory(history, { force: request.force })));
    case 'find':
      return yield line('found', await findSession(history, request.selector));
    case 'show': {
      const { selector, retention } = request;
      return yield line('shown', await showSession(history, selector, { retention }));
    }
    case 'restore':
      return yield line('restored', await restoreSession(history, request.selector));
    case 'remove': {
      const { selector, now, force } = request;
      return yield line('removed', await removeSession(history, selector, { now, force }));
    }
    case 'log':
      return yield* deletions(history, request.last);
  }
}

async function* listed(
  history: History,
  { retention, sessions, trash }: Extract<HistoryRequest, { verb: 'list' }>,
): AsyncGenerator<object> {
  const summary = withProblems(await summarizeHistory(history, { retention }));
  yield line('summary', { ...summary, oldHistoryLeft: oldHistoryLeft(history.sessions) });
  if (sessions) for await (const row of listSessions(history, { retention })) yield line('session', row);
  if (trash) for await (const row of listTrash(history, { retention })) yield line('trashed', row);
}

async function* pruned(
  history: History,
  { retention, dryRun }: Extract<HistoryRequest, { verb: 'prune' }>,
): AsyncGenerator<object> {
  const { sessions, ...report } = await pruneHistory(history, { retention, dryRun });
  // The command says all of it, and the way back, each time.
  if (report.firstDeletion && !dryRun) await acknowledgeFirstDeletion(history);
  for (const session of sessions.items) yield line('removed', session);
  yield line('pruned', withProblems(report));
}

async function* deletions(history: History, last: number): AsyncGenerator<object> {
  let kept: object[] = [];
  for await (const found of readDeletions(history)) {
    kept.push(
      found.kind === 'entry' ? line('deletion', found.entry) : line('skipped', { lines: found.lines }),
    );
    if (kept.length > 2 * last) kept = kept.slice(kept.length - last);
  }
  yield* kept.slice(Math.max(0, kept.length - last));
}

function line(type: string, facts: object): object {
  return { ...facts, type };
}

function withProblems<T extends { problems: { items: HistoryProblem[]; omitted: number } }>(report: T): T {
  const { items, omitted } = report.problems;
  const kept = items.slice(0, HISTORY_LIMITS.list);
  return { ...report, problems: { items: kept, omitted: omitted + items.length - kept.length } };
}
