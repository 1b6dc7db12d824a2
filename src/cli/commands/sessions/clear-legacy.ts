/** `pi-sandbox sessions clear --legacy` (S12, S13). */
import { EXIT } from '../../../lib/errors.ts';
import { bytes } from '../../../lib/table.ts';
import { openContext } from '../../context.ts';
import type { GlobalOptions } from '../../global-options.ts';
import { planImage } from '../../sandbox/image.ts';
import { clearOldHistory, oldHistory } from '../../sandbox/old-history-store.ts';
import { confirm } from '../../ui/prompt.ts';
import { warn } from '../../ui/report.ts';
import { ago, sessions } from './lines.ts';

const MAX_PROBLEMS = 5;

/** Deletes what from before domains had their own belongs to none of those that are configured now; for good. */
export async function sessionsClearLegacy(options: GlobalOptions & { yes?: boolean }): Promise<number> {
  const { config, engine } = await openContext(options);
  const scene = { engine, config, image: planImage(config.INSTALLATION_PREFIX, config).name };
  try {
    const content = await oldHistory(scene);
    const { unowned, damaged, waiting = {} } = content ?? {};
    const count = (unowned?.count ?? 0) + (damaged?.count ?? 0);
    for (const [domain, tally] of Object.entries(waiting)) {
      process.stderr.write(
        `pi-sandbox: ${sessions(tally.count)} wait for the next start in domain ${domain} and stay\n`,
      );
    }
    if (count === 0) {
      process.stdout.write('there is no old history of no domain\n');
      return 0;
    }
    const oldest = Math.min(unowned?.oldest ?? Date.now(), damaged?.oldest ?? Date.now());
    const size = bytes((unowned?.bytes ?? 0) + (damaged?.bytes ?? 0));
    const unreadable = damaged?.count ? `, ${damaged.count} of them without a readable beginning` : '';
    process.stderr.write(
      `pi-sandbox: ${sessions(count)} of no configured domain (${size}, the oldest of ${ago(new Date(oldest).toISOString())})${unreadable}\n`,
    );
    if (!(await confirm('Delete them for good?', '--yes', options.yes))) return 1;
    const { deleted, problems } = await clearOldHistory(scene);
    process.stdout.write(`deleted ${sessions(deleted.count)} of no domain (${bytes(deleted.bytes)})\n`);
    for (const { file, reason } of problems.items.slice(0, MAX_PROBLEMS)) warn(`${file}: ${reason}`);
    return problems.items.length === 0 ? 0 : EXIT.failed;
  } finally {
    engine.close();
  }
}
