/** The entrypoint's prune: before pi and before a shell starts, also when a start joins (S11). */
import { pathsOf, type Roots } from '../../agent-dir/index.ts';
import {
  acknowledgeFirstDeletion,
  announceStart,
  bringBackNamed,
  type History,
  type HistoryNeeds,
  isNamed,
  type NamedHere,
  namesNothing,
  type OtherConversations,
  type PruneReport,
  pruneHistory,
  pruneMessages,
} from '../../history/index.ts';
import type { Clock } from '../../lib/clock.ts';
import { messageOf, TimeoutError } from '../../lib/errors.ts';
import type { FrameConnection, RunRequest, SandboxConfig } from '../../wire/index.ts';
import { tell } from '../replies.ts';
import { namedHere } from './spare.ts';

/** Another sandbox of the domain may be pruning; it does the same work, so it is not waited for any longer. */
const LOCK_WAIT_MS = 2_000;
/** 100,000 Sessions take seconds. What is left after this is the next start's. */
const PRUNE_MS = 10_000;
/** A disk that does not answer must not hold a start back for ever. */
const GIVE_UP_MS = 15_000;

export interface StartPrune {
  readonly roots: Roots;
  readonly config: SandboxConfig;
  readonly clock: Clock;
  /** What goes at the same age, and is counted with the Sessions. */
  readonly others: readonly OtherConversations[];
  readonly note: (event: string, facts: Record<string, unknown>) => void;
}

/** Prunes as the configuration says and tells the user of it. A prune that fails is told and keeps nobody from pi. */
export async function pruneBeforeStart(
  prune: StartPrune,
  connection: FrameConnection,
  request: Pick<RunRequest, 'program' | 'arguments' | 'directory'>,
): Promise<void> {
  const { roots, config, clock, note } = prune;
  const settings = config.history;
  if (settings === undefined) return;
  const history: History = { sessions: roots.sessions, locks: pathsOf(roots).sessionLocks };
  const needs: HistoryNeeds = {
    clock,
    waitMs: LOCK_WAIT_MS,
    signal: AbortSignal.timeout(PRUNE_MS),
    holder: {
      pid: process.pid,
      host: config.name,
      startedAt: clock.now().toISOString(),
      what: 'the prune of a start',
    },
  };
  try {
    const named = namedHere(roots, history, request);
    if (!namesNothing(named)) keepFromOthers(history, named, needs, note);
    await pruneAndTell(prune, connection, named, { history, settings, needs }).catch(failed);
    await bringBack(history, named, { ...needs, signal: AbortSignal.timeout(PRUNE_MS) }, connection);
  } catch (error) {
    failed(error);
  }

  function failed(error: unknown): void {
    note('prune-failed', { reason: messageOf(error) });
    tell(
      connection,
      'warning',
      `old Sessions were not all pruned: ${messageOf(error)}; the next start tries again`,
    );
  }
}

interface PruneWork {
  readonly history: History;
  readonly settings: NonNullable<SandboxConfig['history']>;
  readonly needs: HistoryNeeds;
}

async function pruneAndTell(
  { config, others, note }: StartPrune,
  connection: FrameConnection,
  named: NamedHere,
  { history, settings, needs }: PruneWork,
): Promise<void> {
  const work = pruneHistory(history, {
    ...needs,
    retention: { days: settings.retentionDays, trashDays: settings.trashDays },
    spare: (session) => isNamed(named, session),
    others,
  });
  const report = await within(GIVE_UP_MS, work);
  for (const line of pruneMessages(report, { domain: config.domain })) {
    // The command on the host says its name before every line.
    tell(connection, 'info', line.replace(/^pi-sandbox: /, ''));
  }
  const trouble = troubleOf(report);
  if (trouble !== undefined) tell(connection, 'warning', trouble);
  if (report.interrupted) tell(connection, 'info', 'more Sessions have expired; the next start goes on');
  noteWhatWasDone(report, note);
  if (report.firstDeletion) await acknowledgeFirstDeletion(history);
}

/** Where it cannot be written, as on a full disk, the trash still has what another sandbox's prune takes. */
function keepFromOthers(
  history: History,
  named: NamedHere,
  needs: HistoryNeeds,
  note: StartPrune['note'],
): void {
  try {
    announceStart(history, named, needs);
  } catch (error) {
    note('start-not-announced', { reason: messageOf(error) });
  }
}

/** After the prune: whatever prunes from now on knows what this start names. */
async function bringBack(
  history: History,
  named: NamedHere,
  needs: HistoryNeeds,
  connection: FrameConnection,
): Promise<void> {
  try {
    for (const { id } of await within(GIVE_UP_MS, bringBackNamed(history, named, needs))) {
      tell(connection, 'info', `the Session ${id} was in the trash and is back, since this start names it`);
    }
  } catch (error) {
    tell(
      connection,
      'warning',
      `if the trash has what this start names, it stays there: ${messageOf(error)}`,
    );
  }
}

/** What should have gone or been looked at, and was not; what is no Session is for `sessions list` to report. */
function troubleOf({ problems }: PruneReport): string | undefined {
  const found = problems.items.filter(({ kind }) => kind === 'failed' || kind === 'unreadable');
  const [first, ...others] = found;
  if (first === undefined) return undefined;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return `the history's ${first.file}${more} could not be read or removed: ${first.reason}`;
}

function noteWhatWasDone(report: PruneReport, note: StartPrune['note']): void {
  const { total, removed, expiredTrash, problems, spared } = report;
  const left = problems.items.length + problems.omitted;
  if (total === 0 && expiredTrash.count === 0 && left === 0) return;
  note('pruned', { removed: total, bytes: removed.bytes, expiredTrash: expiredTrash.count, spared, left });
}

async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new TimeoutError(`no end after ${milliseconds / 1_000} s`)),
    milliseconds,
  );
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
