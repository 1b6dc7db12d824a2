/** `pi-sandbox sessions clear` (S13). */
import { UsageError } from '../../../lib/errors.ts';
import { bytes } from '../../../lib/table.ts';
import { chosenDomain, type DomainHistory, domainHistories } from '../../sandbox/history-domains.ts';
import { askHistories } from '../../sandbox/history-program.ts';
import { confirm } from '../../ui/prompt.ts';
import { ago, only, sessions, tellProblems } from './lines.ts';
import { exitCodeOf, failureOf, type SessionsOptions, type SessionsScene, withHistories } from './scene.ts';

export interface ClearOptions extends SessionsOptions {
  yes?: boolean;
  force?: boolean;
  legacy?: boolean;
}

/** Deletes all history of a domain at once, its trash too: nothing of it can be brought back. */
export async function sessionsClear(word: string | undefined, options: ClearOptions): Promise<number> {
  if ((word === undefined) === (options.legacy !== true)) {
    throw new UsageError(word === undefined ? 'which domain?' : 'a domain and --legacy exclude each other', {
      hint: 'pi-sandbox sessions list shows the domains; --legacy is for what belongs to none',
    });
  }
  if (word === undefined) return (await import('./clear-legacy.ts')).sessionsClearLegacy(options);
  return withHistories(options, async (scene) => {
    const history = chosenDomain(scene.histories, word);
    const force = options.force === true;
    if (!force) requireNoSandbox(history);
    const what = await contents(scene, history);
    if (what === undefined) {
      process.stdout.write(`${history.domain}: there is no history\n`);
      return 0;
    }
    process.stderr.write(`pi-sandbox: ${what}\n`);
    const question = `Delete all history of ${history.domain} for good?`;
    if (!(await confirm(question, '--yes', options.yes))) return 1;
    // The answer may have taken minutes.
    const now = await domainHistories(scene.engine, scene.config);
    if (!force) requireNoSandbox(chosenDomain(now, word));
    const answers = await askHistories(scene, [history], () => ({ verb: 'clear', force }));
    for (const report of answers.flatMap(({ lines }) => only(lines, 'cleared'))) {
      const { sessions: cleared, trash, problems } = report;
      const total = bytes(cleared.bytes + trash.bytes);
      process.stdout.write(
        `${history.domain}: deleted ${sessions(cleared.count)} and ${trash.count} in the trash (${total})\n`,
      );
      tellProblems(history.domain, problems);
    }
    return exitCodeOf(answers);
  });
}

/** One that is about to run may have asked for its Sessions already. */
function requireNoSandbox({ domain, sandboxes }: DomainHistory): void {
  if (sandboxes.length === 0) return;
  const projects = [...new Set(sandboxes.map(({ project }) => project))].join(', ');
  throw new UsageError(`the domain ${domain} is in use: ${projects}`, {
    hint: 'pi-sandbox stop it first, or give --force, which also deletes what is open',
  });
}

/** Exactly what would go; undefined when there is nothing. */
async function contents(scene: SessionsScene, history: DomainHistory): Promise<string | undefined> {
  const retention = { days: 0, trashDays: 0 };
  const answers = await askHistories(scene, [history], () => ({
    verb: 'list',
    retention,
    sessions: false,
    trash: false,
  }));
  const failed = answers[0]?.failed;
  if (failed !== undefined) throw failureOf(failed);
  const [summary] = answers.flatMap(({ lines }) => only(lines, 'summary'));
  if (summary === undefined || summary.count + summary.trash.count === 0) return undefined;
  const { count, bytes: size, oldest, newest, open, trash } = summary;
  const changed = count === 0 ? '' : `, changed between ${ago(oldest)} and ${ago(newest)}`;
  const opened = open === 0 ? '' : `; ${open} open`;
  return `domain ${history.domain} has ${sessions(count)} (${bytes(size)}${changed}) and ${trash.count} in the trash (${bytes(trash.bytes)})${opened}`;
}
