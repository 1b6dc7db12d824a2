/** `pi-sandbox sessions restore` and `rm`: into the trash and out of it (S13). */
import { OperationError, PiSandboxError, UsageError } from '../../../lib/errors.ts';
import { safeForTerminal } from '../../../lib/redact.ts';
import type { HistoryAnswer, HistoryLine } from '../../../wire/index.ts';
import { askHistories, type Request } from '../../sandbox/history-program.ts';
import { confirm } from '../../ui/prompt.ts';
import { warn } from '../../ui/report.ts';
import { ago, days, only } from './lines.ts';
import { type Located, locate } from './locate.ts';
import { failureOf, type SessionsOptions, type SessionsScene, withHistories } from './scene.ts';

/** Each is looked for by itself (rule 7). */
const MOST_NAMED = 100;

/** Puts Sessions from the trash back where they were; their age starts anew. Nothing is done when one is not there. */
export function sessionsRestore(words: readonly string[], options: SessionsOptions): Promise<number> {
  return withHistories(options, async (scene) => {
    const located = await locateAll(scene, words);
    for (const each of located) {
      if (each.trashed) continue;
      throw new UsageError(`the Session ${nameOf(each)} is not in the trash`, {
        hint: 'pi-sandbox sessions list --trash lists what is',
      });
    }
    return eachInTurn(located, async (each) => {
      const lines = await askFor(scene, each, { verb: 'restore', selector: each.file });
      for (const { file } of only(lines, 'restored')) {
        const { domain } = each.history;
        process.stdout.write(`restored ${nameOf(each)} in domain ${domain}: ${safeForTerminal(file)}\n`);
      }
    });
  });
}

export interface RemoveOptions extends SessionsOptions {
  now?: boolean;
  yes?: boolean;
  force?: boolean;
}

/** Moves Sessions to the trash; for good with `--now`, without a trash, and those that are there already. */
export function sessionsRemove(words: readonly string[], options: RemoveOptions): Promise<number> {
  return withHistories(options, async (scene) => {
    const located = await locateAll(scene, words);
    const trashDays = scene.config.SESSIONS_TRASH_DAYS;
    const isForGood = ({ trashed }: Located): boolean => options.now === true || trashed || trashDays === 0;
    const lost = located.filter(isForGood);
    if (lost.length > 0 && !(await confirm(questionAbout(lost), '--yes', options.yes))) return 1;
    const force = options.force === true;
    return eachInTurn(located, async (each) => {
      const request = { verb: 'remove', selector: each.file, now: isForGood(each), force } as const;
      const lines = await askFor(scene, each, request);
      for (const removed of only(lines, 'removed')) tellRemoved(each, removed, trashDays);
    });
  });
}

function questionAbout(lost: readonly Located[]): string {
  const [one, ...others] = lost;
  if (one !== undefined && others.length === 0)
    return `Delete Session ${nameOf(one)} of ${one.history.domain} for good?`;
  const names = lost.map((each) => `${nameOf(each)} of ${each.history.domain}`);
  return `Delete ${lost.length} Sessions for good: ${names.join(', ')}?`;
}

function tellRemoved(located: Located, removed: HistoryLine<'removed'>, trashDays: number): void {
  const name = nameOf(located);
  const facts = `domain ${located.history.domain}, last changed ${ago(removed.lastChange)}`;
  if (removed.trashed === undefined) process.stdout.write(`deleted ${name} (${facts})\n`);
  else {
    process.stdout.write(`moved ${name} to the trash for ${days(trashDays)} (${facts})\n`);
    process.stderr.write(`  pi-sandbox sessions restore ${name} brings it back\n`);
  }
}

/** All that are named, each once; so that a word which means nothing stops the call before it does anything. */
async function locateAll(scene: SessionsScene, words: readonly string[]): Promise<Located[]> {
  if (words.length > MOST_NAMED)
    throw new UsageError(`${words.length} Sessions in one call are too many, at most ${MOST_NAMED}`);
  const found: Located[] = [];
  for (const word of words) {
    const located = await locate(scene, word);
    const isKnown = ({ file, history }: Located): boolean =>
      file === located.file && history.domain === located.history.domain;
    if (!found.some(isKnown)) found.push(located);
  }
  return found;
}

/** Of several, one that cannot be done keeps none of the others; of one, its failure is that of the call. */
async function eachInTurn(
  located: readonly Located[],
  run: (each: Located) => Promise<void>,
): Promise<number> {
  let code = 0;
  for (const each of located) {
    try {
      await run(each);
    } catch (error) {
      if (located.length === 1 || !(error instanceof PiSandboxError)) throw error;
      warn(`${nameOf(each)}: ${error.message}${error.hint === undefined ? '' : ` (${error.hint})`}`);
      code ||= error.exitCode;
    }
  }
  return code;
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
