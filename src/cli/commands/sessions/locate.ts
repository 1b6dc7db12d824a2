/** Finds the one Session that a word means, in whichever domain it is (S13). */
import { OperationError, UsageError } from '../../../lib/errors.ts';
import { shown } from '../../config/index.ts';
import type { DomainHistory } from '../../sandbox/history-domains.ts';
import { askHistories, type DomainAnswer } from '../../sandbox/history-program.ts';
import { only } from './lines.ts';
import type { SessionsScene } from './scene.ts';

/** How a path may begin that was copied from a sandbox, or kept from being taken for an option. */
const HISTORY_PATH = /^(?:(?:~|\/home\/pi)\/\.pi\/agent\/sessions\/|\.\/)+/;

export interface Located {
  readonly history: DomainHistory;
  /** Below its domain's sessions directory: names it exactly from now on. */
  readonly file: string;
  readonly id: string | undefined;
  readonly trashed: boolean;
}

/**
 * By its id, the beginning of its id, or its path below the sessions directory, in place or in the trash.
 *
 * @throws UsageError when there is none, or more than one
 */
export async function locate(scene: SessionsScene, given: string): Promise<Located> {
  const word = given.replace(HISTORY_PATH, '');
  if (word.trim() === '') throw new UsageError('a Session has a name', { hint: LIST });
  const answers = await askHistories(scene, scene.histories, () => ({ verb: 'find', selector: word }));
  const found = answers.flatMap(({ history, lines }) =>
    only(lines, 'found').map(({ file, id, trashed }) => ({ history, file, id, trashed })),
  );
  for (const answer of answers) judge(answer);
  // A whole id is not the beginning of another domain's longer one.
  const exact = found.filter(({ id, file }) => id === word || file === word);
  const [one, ...others] = exact.length > 0 ? exact : found;
  if (one === undefined) {
    const where = scene.histories.length === 1 ? ` in domain ${scene.histories[0]?.domain}` : '';
    throw new UsageError(`there is no Session ${shown(word)}${where}`, { hint: LIST });
  }
  if (others.length > 0) {
    const domains = found.map(({ history }) => history.domain).join(', ');
    throw new UsageError(`${shown(word)} means Sessions of several domains: ${domains}`, {
      hint: 'choose with --domain',
    });
  }
  return one;
}

const LIST = 'pi-sandbox sessions list --sessions --trash lists what there is';

/** None here is no failure; anything else is: what could not be looked at might have it. */
function judge({ history, failed }: DomainAnswer): void {
  if (failed === undefined || failed.error === 'SessionNotFoundError') return;
  if (failed.error === 'AmbiguousSessionError') throw new UsageError(failed.message, { hint: failed.hint });
  throw new OperationError(`${history.domain}: ${failed.message}`, { hint: failed.hint });
}
