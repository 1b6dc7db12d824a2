/** `pi-sandbox sessions restore` and `rm`: into the trash and out of it (S13). */
import { OperationError, UsageError } from '../../../lib/errors.ts';
import { safeForTerminal } from '../../../lib/redact.ts';
import type { HistoryAnswer } from '../../../wire/index.ts';
import { askHistories, type Request } from '../../sandbox/history-program.ts';
import { confirm } from '../../ui/prompt.ts';
import { ago, days, only } from './lines.ts';
import { type Located, locate } from './locate.ts';
import { failureOf, type SessionsOptions, type SessionsScene, withHistories } from './scene.ts';

/** Puts a Session from the trash back where it was; its age starts anew. */
export function sessionsRestore(word: string, options: SessionsOptions): Promise<number> {
  return withHistories(options, async (scene) => {
    const located = await locate(scene, word);
    if (!located.trashed) {
      throw new UsageError(`the Session ${nameOf(located)} is not in the trash`, {
        hint: 'pi-sandbox sessions list --trash lists what is',
      });
    }
    const lines = await askFor(scene, located, { verb: 'restore', selector: located.file });
    for (const { file } of only(lines, 'restored')) {
      const { domain } = located.history;
      process.stdout.write(`restored ${nameOf(located)} in domain ${domain}: ${safeForTerminal(file)}\n`);
    }
    return 0;
  });
}

export interface RemoveOptions extends SessionsOptions {
  now?: boolean;
  yes?: boolean;
  force?: boolean;
}

/** Moves one Session to the trash; for good with `--now`, without a trash, and for one that is there already. */
export function sessionsRemove(word: string, options: RemoveOptions): Promise<number> {
  return withHistories(options, async (scene) => {
    const located = await locate(scene, word);
    const trashDays = scene.config.SESSIONS_TRASH_DAYS;
    const now = options.now === true || located.trashed || trashDays === 0;
    const name = nameOf(located);
    const { domain } = located.history;
    if (now && !(await confirm(`Delete Session ${name} of ${domain} for good?`, '--yes', options.yes)))
      return 1;
    const force = options.force === true;
    const lines = await askFor(scene, located, { verb: 'remove', selector: located.file, now, force });
    for (const removed of only(lines, 'removed')) {
      const facts = `domain ${domain}, last changed ${ago(removed.lastChange)}`;
      if (removed.trashed === undefined) process.stdout.write(`deleted ${name} (${facts})\n`);
      else {
        process.stdout.write(`moved ${name} to the trash for ${days(trashDays)} (${facts})\n`);
        process.stderr.write(`  pi-sandbox sessions restore ${name} brings it back\n`);
      }
    }
    return 0;
  });
}

/** By its id where it has one that tells it. */
export function nameOf({ id, file }: Pick<Located, 'id' | 'file'>): string {
  return safeForTerminal(id ?? file);
}

/** @throws OperationError with what went wrong there */
export async function askFor(
  scene: SessionsScene,
  { history }: Located,
  request: Request,
): Promise<readonly HistoryAnswer[]> {
  const [answer] = await askHistories(scene, [history], () => request);
  if (answer === undefined) throw new OperationError(`domain ${history.domain} has no history any more`);
  const { failed, lines } = answer;
  if (failed !== undefined) throw failureOf(failed);
  return lines;
}
