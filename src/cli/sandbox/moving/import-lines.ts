/** How an import is told: the plan before, what became of it after (S15). */
import { safeForTerminal } from '../../../lib/redact.ts';
import { bytes, table } from '../../../lib/table.ts';
import type { SignInOutcome } from '../../../wire/index.ts';
import type { Config } from '../../config/index.ts';
import { info, warn } from '../../ui/report.ts';
import type { LeftFile, PutFile } from './config-files.ts';
import type { ImportResult } from './import-into.ts';
import type { ImportPlan } from './plan.ts';

/** Of what may be thousands; `--json` has more. */
const SHOWN = 10;

export function tellPlan(plan: ImportPlan, config: Config): void {
  const rows = rowsOf(plan);
  process.stdout.write(`from ${safeForTerminal(plan.from)}\n`);
  if (rows.length > 0) process.stdout.write(table(['what', 'to', 'count', 'size'], rows));
  tellHistory(plan, config);
  for (const note of [...(plan.login?.notes ?? []), ...(plan.config?.notes ?? [])]) info(note);
  tellLeft(plan.left);
}

function rowsOf({ history, login, config }: ImportPlan): string[][] {
  const names = Object.keys(login?.content ?? {});
  const files = config?.files ?? [];
  const size = files.reduce((sum, { content }) => sum + content.length, 0);
  return [
    ...[...(history?.survey.domains ?? [])].map(([domain, { count, bytes: total }]) => [
      'Sessions',
      `domain ${domain}`,
      String(count),
      bytes(total),
    ]),
    ...names.map((name) => [
      name,
      name === 'mcp-auth.json' ? `domain ${login?.domain}` : 'all domains',
      '1',
      '-',
    ]),
    ...(files.length === 0 ? [] : [['configuration', 'global level', String(files.length), bytes(size)]]),
  ];
}

function tellHistory({ history }: ImportPlan, config: Config): void {
  if (history === undefined) return;
  const { domains, unowned, unownedMore, damaged, problems, problemsMore } = history.survey;
  for (const [id, { expired }] of domains) {
    const days = config.domains.find((domain) => domain.id === id)?.sessionsRetentionDays;
    if (expired === 0) continue;
    warn(
      `${expired} of them are older than the ${days} days of domain ${id}: its next start moves them to the trash; SESSIONS_RETENTION_DAYS=0 keeps everything`,
    );
  }
  if (unowned.size > 0) {
    const total = [...unowned.values()].reduce((sum, { count }) => sum + count, unownedMore);
    warn(`${total} Session(s) belong to no domain and stay where they are; their directories:`);
    for (const [cwd, { count }] of [...unowned].slice(0, SHOWN)) info(`  ${cwd} (${count})`);
    if (unowned.size > SHOWN) info(`  and ${unowned.size - SHOWN} more; --json has them`);
    info(
      'DOMAIN_<ID>_PATHS gives a directory to a domain, DEFAULT_DOMAIN all others: then the same command again',
    );
  }
  if (damaged > 0) warn(`${damaged} file(s) without a Session's header stay: nobody can tell whose they are`);
  if (problems.length > 0)
    info(
      `${problems.length + problemsMore} file(s), links or folders are no Sessions and stay (--json names them)`,
    );
}

export function tellLeft(left: readonly LeftFile[]): void {
  for (const { file, reason } of left.slice(0, SHOWN)) info(`left: ${file}: ${reason}`);
  if (left.length > SHOWN) info(`${left.length - SHOWN} more are left; --json names them`);
}

export function tellResult({ history, signIns, config }: ImportResult): void {
  for (const { domain, report } of history) tellArrival(`domain ${domain}`, report);
  for (const outcome of signIns) tellSignIn(outcome);
  tellFiles('configuration', config);
}

export function tellArrival(where: string, report: ImportResult['history'][number]['report']): void {
  const { added, there, renamed, failed } = report;
  const before = there === 0 ? '' : `, ${there} were there already`;
  process.stdout.write(`${where}: ${added.count} Session(s) copied (${bytes(added.bytes)})${before}\n`);
  for (const { file, name } of renamed.items.slice(0, SHOWN))
    info(`${where}: another Session has the name ${file}: this one is called ${name}`);
  const more = renamed.items.length + renamed.omitted - SHOWN;
  if (more > 0) info(`${where}: ${more} more have another name; --json names them`);
  for (const { file, reason } of failed.items.slice(0, SHOWN)) warn(`${where}: ${file}: ${reason}`);
  const others = failed.items.length + failed.omitted - SHOWN;
  if (others > 0) warn(`${where}: ${others} more did not come over`);
}

function tellSignIn({ name, outcome, differing, reason }: SignInOutcome): void {
  const words = {
    written: 'copied',
    merged: 'its new entries were added to those that were there',
    there: 'is there already',
    kept: 'was left as it is',
    blocked: `was not copied: ${reason ?? ''}`,
  };
  process.stdout.write(`${safeForTerminal(`${name}: ${words[outcome]}`)}\n`);
  if (differing.length === 0 || outcome === 'written') return;
  const listed = differing.slice(0, SHOWN).join(', ');
  info(
    `${name}: there already with another value: ${listed}; --replace-login takes the ones of this machine`,
  );
}

export function tellFiles(what: string, files: readonly PutFile[]): void {
  const of = (outcome: PutFile['outcome']): number => files.filter((file) => file.outcome === outcome).length;
  if (files.length === 0) return;
  process.stdout.write(`${what}: ${of('written')} file(s) copied, ${of('there')} were there already\n`);
  const kept = files.filter((file) => file.outcome === 'kept');
  for (const { file, reason } of kept.slice(0, SHOWN)) info(`not copied: ${file}: ${reason}`);
  if (kept.length > SHOWN) info(`${kept.length - SHOWN} more were not copied; --json names them`);
}

/** One schema for the plan and what became of it: docs/moving.md. */
export function importAsJson(plan: ImportPlan, result: ImportResult | undefined): object {
  const { history, login, config } = plan;
  return {
    version: 1,
    from: plan.from,
    done: result !== undefined,
    ...(history === undefined
      ? {}
      : {
          history: {
            domains: [...history.survey.domains].map(([domain, count]) => {
              return { domain, ...count, ...result?.history.find((one) => one.domain === domain)?.report };
            }),
            unowned: [...history.survey.unowned].map(([cwd, count]) => ({ cwd, ...count })),
            unownedMore: history.survey.unownedMore,
            damaged: history.survey.damaged,
            problems: history.survey.problems,
            problemsMore: history.survey.problemsMore,
          },
        }),
    ...(login === undefined
      ? {}
      : {
          login: Object.keys(login.content).map((name) => {
            return { name, ...result?.signIns.find((one) => one.name === name) };
          }),
        }),
    ...(config === undefined
      ? {}
      : { config: result?.config ?? config.files.map(({ path }) => ({ file: path.join('/') })) }),
    notes: [...(login?.notes ?? []), ...(config?.notes ?? [])],
    left: plan.left,
  };
}
