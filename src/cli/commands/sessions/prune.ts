/** `pi-sandbox sessions prune` (S13). */
import { UsageError } from '../../../lib/errors.ts';
import { jsonText } from '../../../lib/json-text.ts';
import { safeForTerminal } from '../../../lib/redact.ts';
import { bytes, table } from '../../../lib/table.ts';
import type { HistoryLine } from '../../../wire/index.ts';
import type { DomainHistory } from '../../sandbox/history-domains.ts';
import { askHistories, type DomainAnswer } from '../../sandbox/history-program.ts';
import { info } from '../../ui/report.ts';
import { ago, days, labelOf, only, sessions, tellProblems } from './lines.ts';
import { untyped } from './list.ts';
import { domainsToChange, exitCodeOf, type SessionsOptions, withHistories } from './scene.ts';

export interface PruneOptions extends SessionsOptions {
  all?: boolean;
  dryRun?: boolean;
  /** Days, instead of the domain's own setting. */
  olderThan?: number;
  json?: boolean;
}

/** Does now what the next start of each domain would do. */
export function sessionsPrune(word: string | undefined, options: PruneOptions): Promise<number> {
  return withHistories(options, async (scene) => {
    const chosen = domainsToChange(scene, word, options.all === true);
    const pruned = chosen.filter((history) => hasAge(history, word, options));
    const dryRun = options.dryRun === true;
    const answers = await askHistories(scene, pruned, (history) => ({
      verb: 'prune',
      retention: retentionOf(history, options, scene.config.SESSIONS_TRASH_DAYS),
      dryRun,
    }));
    if (options.json === true) process.stdout.write(asJson(answers, dryRun));
    else {
      for (const answer of answers) print(answer, options, scene.config.SESSIONS_TRASH_DAYS);
      for (const { domain, sessions: volume } of pruned) {
        if (volume === undefined) process.stdout.write(`${domain}: there is no history\n`);
      }
    }
    return exitCodeOf(answers);
  });
}

/** What is not configured has no age at which its Sessions expire, and none is guessed (rule 3). */
function hasAge(
  { domain, retention }: DomainHistory,
  word: string | undefined,
  options: PruneOptions,
): boolean {
  if (retention !== undefined || options.olderThan !== undefined) return true;
  const text = `the domain ${domain} is not configured, so nothing says how long its Sessions stay`;
  const hint = `say it: pi-sandbox sessions prune ${domain} --older-than 30d`;
  if (word !== undefined) throw new UsageError(text, { hint });
  info(`${text}; nothing of it was pruned (${hint})`);
  return false;
}

function retentionOf({ retention }: DomainHistory, { olderThan }: PruneOptions, trashDays: number) {
  return { days: olderThan ?? retention?.days ?? 0, trashDays };
}

function print({ history, lines }: DomainAnswer, options: PruneOptions, trashDays: number): void {
  const [report] = only(lines, 'pruned');
  if (report === undefined) return;
  const { domain } = history;
  const { removed, expiredTrash, keptOpen, dryRun } = report;
  const age = retentionOf(history, options, trashDays).days;
  if (dryRun) printSessions(only(lines, 'removed'));
  const out = (text: string): void => void process.stdout.write(`${domain}: ${text}\n`);
  const verb = dryRun ? 'would remove' : 'removed';
  if (age === 0) out('keeps everything');
  else if (removed.count === 0) out(`no Session is older than ${days(age)}`);
  else {
    const where = trashDays === 0 ? 'for good' : `to the trash for ${days(trashDays)}`;
    const facts = `${bytes(removed.bytes)}, the oldest changed ${ago(removed.oldest)}`;
    out(`${verb} ${sessions(removed.count)} older than ${days(age)} (${facts}), ${where}`);
    if (!dryRun && trashDays > 0) {
      info(`sessions list ${domain} --trash lists them, sessions restore <id> brings one back`);
    }
  }
  for (const { what, count } of report.others) if (count > 0) out(`${verb} ${count} ${what}`);
  if (expiredTrash.count > 0)
    out(`${dryRun ? 'would delete' : 'deleted'} ${expiredTrash.count} from the trash for good`);
  if (keptOpen > 0) out(`${keptOpen} in the trash are open and stay`);
  tellProblems(domain, report.problems);
}

function printSessions(removed: readonly HistoryLine<'removed'>[]): void {
  if (removed.length === 0) return;
  const lines = removed.map(({ id, file, lastChange, bytes: count, cwd }) => [
    labelOf({ id, file }),
    ago(lastChange),
    bytes(count),
    safeForTerminal(cwd ?? '-'),
  ]);
  process.stdout.write(table(['session', 'last change', 'size', 'directory'], lines));
}

/** Schema in docs/history.md. */
function asJson(answers: readonly DomainAnswer[], dryRun: boolean): string {
  const domains = answers.flatMap(({ history, lines }) =>
    only(lines, 'pruned').map((report) => ({
      domain: history.domain,
      ...untyped(report),
      sessions: only(lines, 'removed').map(untyped),
    })),
  );
  return `${jsonText({ version: 1, dryRun, domains }, 2)}\n`;
}
