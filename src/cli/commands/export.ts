import { EXIT, UsageError } from '../../lib/errors.ts';
import { jsonText } from '../../lib/json-text.ts';
import { safeForTerminal } from '../../lib/redact.ts';
import { bytes, table } from '../../lib/table.ts';
import type { DomainHistory } from '../sandbox/history-domains.ts';
import { tellArrival, tellFiles, tellLeft } from '../sandbox/moving/import-lines.ts';
import { carryOutExport, type ExportPlan, type ExportResult, planExport } from '../sandbox/moving/leaving.ts';
import { agentDirectoryOf } from '../sandbox/moving/plain-pi.ts';
import { chosen } from '../sandbox/moving/plan.ts';
import { confirm } from '../ui/prompt.ts';
import { info } from '../ui/report.ts';
import { type SessionsScene, withHistories } from './sessions/scene.ts';

export interface ExportPiOptions {
  engine?: string;
  debug?: boolean;
  to?: string;
  domain?: string;
  all?: boolean;
  history?: boolean;
  login?: boolean;
  config?: boolean;
  dryRun?: boolean;
  yes?: boolean;
  json?: boolean;
}

/** Writes what the domains hold for a plain pi, never over anything that is there (S15). */
export function exportPi(options: ExportPiOptions): Promise<number> {
  if (options.domain !== undefined && options.all === true)
    throw new UsageError('--domain and --all exclude each other');
  return withHistories(options, async (scene) => {
    const wanted = chosen(options);
    const { env, home } = scene.context;
    const domains =
      wanted.history || options.domain !== undefined ? domainsOf(scene, options) : scene.histories;
    const plan = await planExport(scene, domains, wanted, agentDirectoryOf(options.to, env, home));
    if (options.json !== true) tellPlan(plan);
    const empty = rowsOf(plan).length === 0;
    if (empty) info('there is nothing to export');
    let result: ExportResult | undefined;
    if (!empty && options.dryRun !== true) {
      const question = `Write this to ${plan.to}? What is there stays as it is.`;
      if (!(await confirm(question, '--yes, or look with --dry-run', options.yes))) return EXIT.failed;
      result = await carryOutExport(scene, plan);
    }
    return finish(plan, result, options);
  });
}

function domainsOf({ histories }: SessionsScene, { all, domain }: ExportPiOptions): readonly DomainHistory[] {
  if (domain !== undefined || all === true || histories.length === 1) return histories;
  const listed = histories.map((history) => history.domain).join(', ');
  throw new UsageError('the history of which domain?', {
    hint: `--domain with one of ${listed}, or --all: a plain pi keeps them all together`,
  });
}

function rowsOf({ histories, signIns, config }: ExportPlan): string[][] {
  const size = config.reduce((sum, { content }) => sum + content.length, 0);
  return [
    ...histories.map(({ history, count, bytes: total }) => [
      'Sessions',
      `domain ${history.domain}`,
      String(count),
      bytes(total),
    ]),
    ...Object.keys(signIns).map((name) => [name, '-', '1', '-']),
    ...(config.length === 0 ? [] : [['configuration', 'global level', String(config.length), bytes(size)]]),
  ];
}

function tellPlan(plan: ExportPlan): void {
  const rows = rowsOf(plan);
  process.stdout.write(`to ${safeForTerminal(plan.to)}\n`);
  if (rows.length > 0) process.stdout.write(table(['what', 'from', 'count', 'size'], rows));
  tellLeft(plan.left);
}

function finish(plan: ExportPlan, result: ExportResult | undefined, { json }: ExportPiOptions): number {
  if (json === true) process.stdout.write(`${jsonText(asJson(plan, result), 2)}\n`);
  if (result === undefined) return 0;
  if (json !== true) {
    for (const { domain, report } of result.history) tellArrival(`domain ${domain}`, report);
    tellFiles('login and configuration', result.files);
  }
  return result.history.some(({ report }) => report.failed.items.length > 0) ? EXIT.failed : 0;
}

/** One schema for the plan and what became of it: docs/moving.md. */
function asJson(plan: ExportPlan, result: ExportResult | undefined): object {
  const planned = [...Object.keys(plan.signIns), ...plan.config.map(({ path }) => path.join('/'))];
  return {
    version: 1,
    to: plan.to,
    done: result !== undefined,
    history: plan.histories.map(({ history: { domain }, count, bytes: size }) => {
      return { domain, count, bytes: size, ...result?.history.find((one) => one.domain === domain)?.report };
    }),
    files: result?.files ?? planned.map((file) => ({ file })),
    left: plan.left,
  };
}
